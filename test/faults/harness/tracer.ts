import { spawnSync } from 'node:child_process'
import type { ToolSearch } from '#dev/services/find-tool.ts'
import { findTool } from '#dev/services/find-tool.ts'
import { STRACE } from '#dev/services/tools.ts'

/** The arguments in front of a program that trace it, or the reason why there is no tracer. */
export type Tracer = { readonly words: readonly string[] } | { readonly words?: undefined; readonly why: string }

const PROBE = ['-f', '-e', 'trace=none', '-e', 'inject=fdatasync:error=EIO:when=1', 'true']

/** Finds the system's tracer or a private copy of it, if it may trace here. */
export async function findTracer(search: ToolSearch = {}): Promise<Tracer> {
  try {
    const { words: found } = await findTool(STRACE, { log: console.log, ...search })
    // The libraries of a private copy are for the tracer alone. The traced program must not load them.
    const words = found.length > 1 ? [...found, '-E', 'LD_LIBRARY_PATH'] : found
    const [command = '', ...args] = [...words, ...PROBE]
    const { status, stderr } = spawnSync(command, args, { encoding: 'utf8' })
    return status === 0 ? { words } : { why: `strace may not trace here: ${stderr.trim().split('\n')[0]}` }
  } catch (error) {
    return { why: error instanceof Error ? error.message : String(error) }
  }
}
