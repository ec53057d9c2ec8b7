import { readFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import type { Plugin } from 'esbuild'
import { REPOSITORY } from '#dev/network/programs.ts'
import type { Edit } from './replace-once.ts'
import { replaceOnce } from './replace-once.ts'

/**
 * Makes mistakes in the sources while a program is built. The build fails when a changed file is in no program. Each
 * build of a context calls `editsOf` again, for edits of `files`.
 */
export function changeSources(files: readonly string[], editsOf: () => readonly Edit[]): Plugin {
  const names = files.map((file) => basename(file).replaceAll('.', '\\.'))
  return {
    name: 'change sources',
    setup({ onStart, onLoad, onEnd }) {
      let unread = new Set<string>()
      onStart(() => {
        unread = new Set(editsOf().map(({ file }) => file))
      })
      onLoad({ filter: new RegExp(`/(?:${names.join('|')})$`) }, async ({ path }) => {
        const own = editsOf().filter(({ file }) => path === join(REPOSITORY, file))
        for (const { file } of own) unread.delete(file)
        return { contents: own.reduce(replaceOnce, await readFile(path, 'utf8')), loader: 'ts' }
      })
      onEnd(() => {
        if (unread.size > 0) throw new Error(`in no program: ${[...unread].join(', ')}`)
      })
    },
  }
}
