/** A mistake to make in a source: a change at one place of one file. */
export type Edit = {
  readonly file: string
  /** The function or method that contains the place. The whole file by default. */
  readonly within?: string
  readonly find: string
  readonly replace: string
}

/** The source of a file with the mistake in it. Throws unless the text to change is in its function exactly once. */
export function replaceOnce(source: string, { file, within, find, replace }: Edit): string {
  const { from, to } = within === undefined ? { from: 0, to: source.length } : rangeOf(source, file, within)
  const place = source.slice(from, to)
  const count = place.split(find).length - 1
  if (count !== 1) throw new Error(`${file}: ${within ?? 'the file'} has ${count} times, and not once, «${find}»`)
  return source.slice(0, from) + place.replace(find, () => replace) + source.slice(to)
}

/** Ends of a line that open a block around the next lines. */
const OPENS = /(?:[{([]|=>|=)$/

/**
 * The range of a function, a constant or, where neither has the name, a member. The formatter indents its body, so no
 * parser is needed. Throws unless exactly one declaration in the file has the name.
 */
function rangeOf(source: string, file: string, name: string): { readonly from: number; readonly to: number } {
  const declared = [
    ...source.matchAll(new RegExp(`^( *)(?:export )?(?:(?:async )?function\\*?|const) ${name}\\b`, 'gm')),
  ]
  const members = source.matchAll(new RegExp(`^( *)(?:(?:async )?\\*?${name}\\((?:.*\\{)?$|${name}: )`, 'gm'))
  const [head, ...others] = declared.length > 0 ? declared : members
  if (head === undefined || others.length > 0) throw new Error(`${file} does not have exactly one ${name}`)
  const from = head.index
  const lines = source.slice(from).split('\n')
  const isOut = (line: string) => line !== '' && line.search(/\S/) <= (head[1]?.length ?? 0)
  const end = lines.findIndex((line, at) => at > 0 && isOut(line) && !(/^ *[})\]|&?:.]/.test(line) && OPENS.test(line)))
  // A closing bracket belongs to the block that it closes.
  const count = end < 0 ? lines.length : /^ *[})\]]/.test(lines[end] ?? '') ? end + 1 : end
  return { from, to: from + lines.slice(0, count).join('\n').length + 1 }
}
