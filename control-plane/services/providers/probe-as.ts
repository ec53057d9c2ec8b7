import type { Ctx } from '#control-plane/operation/ctx.ts'
import type { ProbeResult, ProbeTarget } from '#control-plane/ports/provider/probe.ts'
import type { ProtocolName } from '#shared/protocols/index.ts'

/** The result of a probe, and the protocol in which the provider was asked last. */
export type ProbedAs = { readonly apiFormat: ProtocolName; readonly result: ProbeResult }

/**
 * Asks a provider for a model. Where it says that the model answers in another protocol of the same host alone, it is asked in
 * that one: an offer in the first could serve nobody.
 */
export async function probeAs(ctx: Pick<Ctx, 'probe'>, target: ProbeTarget): Promise<ProbedAs> {
  const { apiFormat } = target
  const result = await ctx.probe(target)
  const other = result.isAccepted ? undefined : result.speaks
  if (other === undefined) return { apiFormat, result }
  return { apiFormat: other, result: await ctx.probe({ ...target, apiFormat: other }) }
}
