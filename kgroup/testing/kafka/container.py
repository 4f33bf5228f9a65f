"""A real Kafka in a container, by testcontainers (extra `docker`).

Decides: whether a container engine answers, and how a broker is started in it.
Never: is asked when a broker can run as a process of this machine.
"""

__all__ = ["engine_runs"]


def engine_runs() -> bool:
    """Tell whether testcontainers is installed and its container engine answers."""
    try:
        import docker  # noqa: PLC0415
    except ImportError:
        return False
    try:
        client = docker.from_env(timeout=5)
    except docker.errors.DockerException:
        return False
    try:
        return bool(client.ping())
    except (docker.errors.DockerException, OSError):
        return False
    finally:
        client.close()
