import type { UpstreamFailure } from '#data-plane/upstream/classify.ts'

/** True when the last refusal names the same fault of the request as an earlier provider's. */
export function isSaidTwice(failures: readonly UpstreamFailure[]): boolean {
  const last = failures.at(-1)
  if (last?.fault !== 'buyer') return false
  return failures.slice(0, -1).some(({ fault, refusal }) => fault === 'buyer' && refusal === last.refusal)
}

/**
 * The failure that the buyer sees. A fault that one provider found in the request remains when another provider fails.
 * A limit of one account says nothing about the others.
 */
export function shownFailure(failures: readonly UpstreamFailure[]): UpstreamFailure | undefined {
  return (
    failures.find(({ fault }) => fault === 'buyer') ??
    failures.findLast(({ fault }) => fault !== 'misfit') ??
    failures.at(-1)
  )
}
