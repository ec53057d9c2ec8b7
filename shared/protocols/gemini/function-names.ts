/**
 * Functions of this protocol begin with a letter or an underscore. Any other name gets an underscore in front. A name
 * that looks as if it had one gets another, so that {@link readName} finds the buyer's name again.
 */
export function writtenName(name: string): string {
  return /^_*[^A-Za-z_]/.test(name) ? `_${name}` : name
}

/** The buyer's name of a function. */
export function readName(name: string): string {
  return /^_+[^A-Za-z_]/.test(name) ? name.slice(1) : name
}
