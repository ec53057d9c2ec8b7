/** The things of the worker that the running file uses, each with a function that gives it back. */
const borrowed = new Map<string, () => void>()

/**
 * Notes that the running file uses something. `giveBack` is called once at the file's end, however often the use is
 * noted.
 */
export function borrow(name: string, giveBack: () => void): void {
  borrowed.set(name, giveBack)
}

export function giveAllBack(): void {
  for (const giveBack of borrowed.values()) giveBack()
  borrowed.clear()
}
