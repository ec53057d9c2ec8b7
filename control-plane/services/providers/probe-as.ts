import type { Ctx } from '#control-plane/operation/ctx.ts'
import type { ProbeResult, ProbeTarget } from '#control-plane/ports/provider/probe.ts'
import type { ProtocolName } from '#shared/protocols/index.ts'

/** The result of a probe, and the protocol of its last request. */
export type ProbedAs = { readonly apiFormat: ProtocolName; readonly result: ProbeResult }

/**
 * Probes a model at a provider. When the provider says that the model speaks only another protocol of the same host,
 * the probe uses that protocol: an offer in the first could serve no call.
 */
export async function probeAs(ctx: Pick<Ctx, 'probe'>, target: ProbeTarget): Promise<ProbedAs> {
  const { apiFormat } = target
  const result = await ctx.probe(target)
  const other = result.isAccepted ? undefined : result.speaks
  if (other === undefined) return { apiFormat, result }
  return { apiFormat: other, result: await ctx.probe({ ...target, apiFormat: other }) }
}
