import type { MarketOffer, Target } from '#data-plane/call.ts'
import type { Endpoint } from '#shared/catalog/model.ts'
import type { LentRule } from '#shared/contract/lent-offers.ts'
import { keptToPercent } from '#shared/discount.ts'
import { AppError } from '#shared/errors.ts'
import type { KeptBps } from '#shared/money.ts'
import { unsupportedProvider } from '#shared/routing/named-providers.ts'
import { capRefusal } from './cap-refusal.ts'
import { isKeptFrom, memberRefusal } from './costly-members.ts'
import { refusingRule } from './lent-rules.ts'
import type { SelectionPorts } from './offer-filters.ts'
import { ELIGIBLE, FILTERS, stageOf } from './offer-filters.ts'
import { nobodySells } from './resolve-target.ts'
import type { Choice } from './routing-choice.ts'

/** A target's offers, none of which a call can use. */
export type Emptied = { readonly target: Target; readonly offers: readonly MarketOffer[] }

/** The refusal of the last filter that any offer reached. */
export function refuseSelection(ports: SelectionPorts, choice: Choice, { target, offers }: Emptied): AppError {
  const stages = offers.map((offer) => stageOf(ports, choice, offer))
  const furthest = stages.reduce((most, stage) => Math.max(most, stage), 0)
  if (furthest >= FILTERS.indexOf('provider') && choice.unknown !== undefined)
    return unsupportedProvider(ports.market.providers, choice.unknown)
  const reached = offers.filter((_offer, at) => stages[at] === furthest)
  switch (FILTERS[furthest]) {
    case 'capability':
      return choice.need === 'document-url' ? addressRefusal() : nobodySells(target, { message: otherWork(target) })
    case 'members':
      return membersRefusal(choice, { target, offers: reached })
    case 'endpoint':
    case 'provider':
      return nobodySells(target)
    case 'trusted':
      return nobodySells(target, {
        message: `No trusted seller is available for the ${target.kind}; allow_untrusted would admit others.`,
        detail: { detail: { untrusted_available: true } },
      })
    case 'trait':
      return new AppError('trait_unavailable', { detail: { required_traits: choice.lentDemand?.traits ?? [] } })
    case 'policy':
      return policyRefusal(ports, choice, reached)
    case 'discount':
      return discountRefusal(ports, choice, { target, offers })
    case 'cap':
      return capRefusal(target, reached, ports, `Every seller of the ${target.kind} has spent its daily cap.`)
    case 'health':
      return healthRefusal(ports, target, reached)
    default:
      return new AppError('no_healthy_sellers', {
        message: 'The list of blocked providers leaves no seller.',
        detail: { limit_source: 'providers_blocked', limit_scope: 'call', resets_at: null },
      })
  }
}

/** The refusal of the first member that excludes a seller. */
function membersRefusal({ costly = [] }: Choice, { target, offers }: Emptied): AppError {
  const member = costly.find((one) => offers.some((offer) => isKeptFrom(offer, one)))
  return member === undefined ? nobodySells(target) : memberRefusal(target, member)
}

const WORK: Readonly<Record<Endpoint, string>> = {
  chat: 'chats',
  completions: 'completions',
  embeddings: 'embeddings',
  speech: 'speech',
  transcription: 'transcripts',
  image: 'pictures',
  'image-edit': 'edits of pictures',
  video: 'films',
  music: 'music',
}

/** The purpose of a model, when a call asks for a different one. */
function otherWork(target: Target): string | undefined {
  if (target.kind !== 'model' || target.model.endpoints.includes(target.endpoint)) return undefined
  const { id, endpoints } = target.model
  return `${id} makes no ${WORK[target.endpoint]}: it is a model for ${endpoints.map((name) => WORK[name]).join(', ')}.`
}

/** The refusal of a document URL when every seller of the model would need the document's bytes. */
function addressRefusal(): AppError {
  return new AppError('model_capability_unsupported', {
    message: 'No seller of the model accepts a document by URL. Send its data as base64.',
    detail: { capability: 'file_url' },
  })
}

/** All remaining offers are backed off. The refusal tells the nearest recovery as the time to retry. */
function healthRefusal({ health, now }: SelectionPorts, { kind }: Target, offers: readonly MarketOffer[]): AppError {
  const recovery = offers.reduce(
    (nearest, offer) => Math.min(nearest, health.blockedUntil(offer, now) || nearest),
    Number.MAX_SAFE_INTEGER,
  )
  return new AppError(kind === 'model' ? 'no_healthy_sellers' : 'offers_unhealthy', {
    detail: { limit_source: 'seller_health', limit_scope: 'offer', resets_at: Math.ceil(recovery / 1_000) },
    retryAfterSeconds: (recovery - now) / 1_000,
  })
}

/**
 * The rules of the lenders refuse the call at all offers. The refusal names the kinds of rules, and no lender.
 */
function policyRefusal({ rates }: SelectionPorts, { lentDemand }: Choice, offers: readonly MarketOffer[]): AppError {
  const rules = offers.flatMap((offer) =>
    lentDemand === undefined ? [] : (refusingRule(rates, offer, lentDemand) ?? []),
  )
  return policyRefused(rules)
}

/** `policy_refused` by these rules. */
export function policyRefused(rules: readonly LentRule[]): AppError {
  return new AppError('policy_refused', {
    detail: { rules: [...new Set(rules)], limit_source: 'seller_rules', limit_scope: 'offer', resets_at: null },
  })
}

/** The refusal of a floor. It shows the best discount among offers that pass every other filter. */
function discountRefusal(ports: SelectionPorts, choice: Choice, { target, offers }: Emptied): AppError {
  const withoutFloor = { ...choice, floorPercent: undefined }
  let best: KeptBps | undefined
  for (const offer of offers) {
    const isOtherwiseEligible = stageOf(ports, withoutFloor, offer) === ELIGIBLE
    if (isOtherwiseEligible && (best === undefined || offer.keptBps < best)) best = offer.keptBps
  }
  const percent = best === undefined ? null : keptToPercent(best)
  // For the buyer, such a resource or family has no offer.
  return new AppError(target.kind === 'model' ? 'minimum_discount_not_met' : 'no_resource_offer', {
    message: `No offer is at least ${choice.floorPercent}% off. Best otherwise-eligible discount: ${percent ?? 0}%.`,
    detail: {
      best_discount_pct: percent,
      min_discount_pct: choice.floorPercent,
      limit_source: 'min_discount',
      limit_scope: 'call',
      resets_at: null,
    },
  })
}
