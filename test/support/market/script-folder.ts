import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { BUSY_MS } from '#test/support/run/until.ts'
import type { Network } from './network.ts'

/** A market, and a folder in which scripts of the docs run like on a reader's machine. */
export type ScriptFolder = {
  readonly network: Network
  readonly path: string
  write(name: string, text: string): Promise<void>
  /**
   * Runs a program and returns its output. The program gets only PATH from the environment. Rejects when it fails or is
   * slow.
   */
  run(program: string, args: readonly string[], environment?: Record<string, string>): Promise<string>
  /** Stops the market and removes the market and the folder. */
  remove(): Promise<void>
}

/** Creates the folder for a market. It is inside the tree, so that packages are found, and git ignores it. */
export async function openScriptFolder(network: Network): Promise<ScriptFolder> {
  const cache = fileURLToPath(new URL('../../../node_modules/.cache/', import.meta.url))
  await mkdir(cache, { recursive: true })
  const path = await mkdtemp(join(cache, 'scripts-'))
  await symlink(network.home, join(path, '.market'))
  return {
    network,
    path,
    write: (name, text) => writeFile(join(path, name), text),
    run: async (program, args, environment = {}) => {
      const options = { cwd: path, timeout: BUSY_MS, env: { PATH: process.env['PATH'], ...environment } }
      return (await promisify(execFile)(program, args, options)).stdout
    },
    remove: async () => {
      await network.remove()
      await rm(path, { recursive: true, force: true })
    },
  }
}
