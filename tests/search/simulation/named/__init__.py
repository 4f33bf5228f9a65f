"""What users of other clients suffered from, each as a schedule that provokes it."""
