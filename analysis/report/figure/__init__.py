"""The interactive figure of a page: panels, the timeline that stacks them, and one close-up."""
