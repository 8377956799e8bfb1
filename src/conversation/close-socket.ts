/** Closes a socket. One that is closed already, or whose peer's code may not be echoed, is let be. */
export function closeSocket(socket: WebSocket, code: number, reason: string): void {
  try {
    // The runtime takes 123 bytes of a reason.
    socket.close(code, reason.slice(0, 120));
  } catch {
    // Nothing is left to do.
  }
}
