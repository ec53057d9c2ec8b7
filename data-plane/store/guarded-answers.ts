import type { ChainableCommander } from 'ioredis'
import { AppError } from '#shared/errors.ts'

/** An answer of Redis. Throws AppError `service_unavailable` while it is out of reach. */
export function guarded<Result>(answer: Promise<Result>): Promise<Result> {
  return answer.catch((cause: unknown) => {
    throw new AppError('service_unavailable', { retryAfterSeconds: 1, cause })
  })
}

/** The answers to commands that Redis runs at once. */
export async function together(commands: ChainableCommander): Promise<readonly unknown[]> {
  return ((await guarded(commands.exec())) ?? []).map(([error, value]) => error ?? value)
}
