import type { ChainableCommander } from 'ioredis'
import { guarded } from '#shared/ledger/gate-closed.ts'

/** The answers to commands that Redis runs at once. */
export async function together(commands: ChainableCommander): Promise<readonly unknown[]> {
  return ((await guarded(commands.exec())) ?? []).map(([error, value]) => error ?? value)
}
