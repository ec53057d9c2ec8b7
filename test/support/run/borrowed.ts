/** The things of its worker that the running file uses, each with the way to give it back. */
const borrowed = new Map<string, () => void>()

/** Notes that the running file uses something. `giveBack` is called at the file's end, once however often it is noted. */
export function borrow(name: string, giveBack: () => void): void {
  borrowed.set(name, giveBack)
}

export function giveAllBack(): void {
  for (const giveBack of borrowed.values()) giveBack()
  borrowed.clear()
}
