import type { Ctx } from '#control-plane/operation/ctx.ts'
import type { ChainRailName, ClaimAnswer } from '#shared/contract/chain-payments.ts'
import { CHAIN_RAILS } from '#shared/contract/chain-payments.ts'
import { RAIL_FEATURES } from '#shared/contract/features.ts'

const RETRY_SECONDS = 30

/** The ways to pay by wallet that operators have switched off. */
export async function listSwitchedOff({ controls }: Pick<Ctx, 'controls'>): Promise<ChainRailName[]> {
  const isOn = await Promise.all(CHAIN_RAILS.map((rail) => controls.isOn(RAIL_FEATURES[rail])))
  return CHAIN_RAILS.filter((_, at) => !isOn[at])
}

/** Refuses a claim on a rail that is switched off. A data plane learns of the switch a moment later. */
export async function refuseSwitchedOff(
  { controls }: Pick<Ctx, 'controls'>,
  rail: ChainRailName,
): Promise<ClaimAnswer | undefined> {
  if (await controls.isOn(RAIL_FEATURES[rail])) return undefined
  return { state: 'closed', reason: 'switched_off', retryAfterSeconds: RETRY_SECONDS }
}
