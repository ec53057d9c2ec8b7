/**
 * Functions of this protocol begin with a letter or an underscore. A name that does not is written with one underscore
 * more, and so is every name that could be taken for such a one.
 */
export function writtenName(name: string): string {
  return /^_*[^A-Za-z_]/.test(name) ? `_${name}` : name
}

/** The buyer's name of a function. */
export function readName(name: string): string {
  return /^_+[^A-Za-z_]/.test(name) ? name.slice(1) : name
}
