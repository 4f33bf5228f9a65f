"""The plug-ins that run peers' own tests."""
