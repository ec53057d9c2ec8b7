import { AppError } from '#shared/errors.ts'
import type { Binary, Tool } from './find-tool.ts'
import { findTool } from './find-tool.ts'

const REDIS: Tool = {
  programs: ['redis-server', 'valkey-server'],
  packages: ['redis-server', 'redis-tools'],
  shelf: 'redis',
}
/** strace, which makes system calls of a program fail. */
export const STRACE: Tool = { programs: ['strace'], packages: ['strace'], shelf: 'strace' }
/** wrk, which drives loads. */
export const WRK: Tool = { programs: ['wrk'], packages: ['wrk'], shelf: 'wrk' }

/** nginx, with which large answers are compared. */
export const NGINX: Tool = {
  programs: ['nginx'],
  packages: ['nginx'],
  folder: 'sbin',
  shelf: 'nginx',
}

/** Finds a real Redis server. `log` receives a line before anything that takes time. */
export async function findRedisServer(log: (line: string) => void): Promise<Binary> {
  try {
    return await findTool(REDIS, { log })
  } catch (cause) {
    const message = 'no Redis server was found: install one (apt-get install redis-server) or set REDIS_URL'
    throw new AppError('internal_error', { message, cause })
  }
}
