import { execFileSync } from 'node:child_process'
import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { REPOSITORY } from '#dev/network/programs.ts'
import type { Edit } from '#test/support/sources/replace-once.ts'
import { replaceOnce } from '#test/support/sources/replace-once.ts'

/** A copy of the sources, in which a mistake reaches tests, bundles and started processes alike. */
export type CopiedTree = {
  readonly folder: string
  /** Makes mistakes. The returned function undoes them. */
  mutate(edits: readonly Edit[]): () => void
  remove(): void
}

/** Copies the files that git tracks or would add. The packages are shared with the repository. */
export function copyTree(): CopiedTree {
  const folder = mkdtempSync(join(tmpdir(), 'market-mutants-'))
  const listed = execFileSync('git', ['ls-files', '-coz', '--exclude-standard'], { cwd: REPOSITORY, encoding: 'utf8' })
  // The list includes deleted files, and packages that are a link.
  const isFile = (path: string) => statSync(join(REPOSITORY, path), { throwIfNoEntry: false })?.isFile() === true
  for (const path of new Set(listed.split('\0').filter((name) => name !== '' && isFile(name)))) {
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    copyFileSync(join(REPOSITORY, path), join(folder, path))
  }
  symlinkSync(join(REPOSITORY, 'node_modules'), join(folder, 'node_modules'))
  const read = (file: string) => readFileSync(join(folder, file), 'utf8')
  return {
    folder,
    mutate(edits) {
      const sources = edits.map(({ file }) => [join(folder, file), read(file)] as const)
      for (const edit of edits) writeFileSync(join(folder, edit.file), replaceOnce(read(edit.file), edit))
      return () => {
        for (const [path, source] of sources) writeFileSync(path, source)
      }
    },
    remove: () => rmSync(folder, { recursive: true, force: true }),
  }
}
