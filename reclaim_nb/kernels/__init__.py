"""Kernels in boxes: provisioners, images, the link to a running kernel, leftovers of dead runners."""
