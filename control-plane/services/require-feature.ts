import type { Ctx } from '#control-plane/operation/ctx.ts'
import type { FeatureName } from '#shared/contract/features.ts'
import { FEATURES } from '#shared/contract/features.ts'
import { AppError } from '#shared/errors.ts'

const RETRY_SECONDS = 60

/** Throws `service_unavailable` while operators have switched a feature off. */
export async function requireFeature(ctx: Pick<Ctx, 'controls'>, feature: FeatureName): Promise<void> {
  if (await ctx.controls.isOn(feature)) return
  throw new AppError('service_unavailable', {
    message: `An operator has switched this off for now: "${FEATURES[feature]}"`,
    detail: { limit_source: 'switched_off', feature },
    retryAfterSeconds: RETRY_SECONDS,
  })
}
