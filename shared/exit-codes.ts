/** A program's exit code when another program listens on its port; the number is EADDRINUSE of Linux. */
export const PORT_TAKEN = 98

/** The exit code of a program that could not start. */
export function exitCodeOf(error: unknown): number {
  return error instanceof Error && 'code' in error && error.code === 'EADDRINUSE' ? PORT_TAKEN : 1
}
