/** A mistake to make in a source: one place of one file is changed. */
export type Edit = { readonly file: string; readonly find: string; readonly replace: string }

/** The source of a file with the mistake in it. Throws unless the text that it changes is there exactly once. */
export function replaceOnce(source: string, { file, find, replace }: Edit): string {
  if (source.split(find).length !== 2) throw new Error(`${file} has not exactly one «${find}»`)
  return source.replace(find, () => replace)
}
