import type { UpstreamFailure } from '#data-plane/upstream/classify.ts'

/** True when the last refusal says of the request what another provider's said before. */
export function isSaidTwice(failures: readonly UpstreamFailure[]): boolean {
  const last = failures.at(-1)
  if (last?.fault !== 'buyer') return false
  return failures.slice(0, -1).some(({ fault, refusal }) => fault === 'buyer' && refusal === last.refusal)
}

/**
 * The failure that the buyer reads of. A fault that one provider found in the request remains when another provider
 * fails. A limit of one account says nothing of the others.
 */
export function shownFailure(failures: readonly UpstreamFailure[]): UpstreamFailure | undefined {
  return (
    failures.find(({ fault }) => fault === 'buyer') ??
    failures.findLast(({ fault }) => fault !== 'misfit') ??
    failures.at(-1)
  )
}
