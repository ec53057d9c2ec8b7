import { z } from 'zod'
import { machineOperator } from '#control-plane/operation/actor.ts'
import { invoke } from '#control-plane/operation/invoke.ts'
import { putAlias } from '#control-plane/services/catalog/aliases.ts'
import { declareIncident } from '#control-plane/services/incidents/declared-incidents.ts'
import { delistOffer } from '#control-plane/services/offers/operator-offers.ts'
import { releaseTransfer } from '#control-plane/services/payouts/operator-payouts.ts'
import { CALL_ROWS } from './call-rows.ts'
import type { DoorRow } from './door-row.ts'
import { by, changes, link, reads, without } from './door-row.ts'
import type { DoorWorld } from './door-world.ts'
import { OPERATING_ROWS } from './operating-rows.ts'
import { billOfToday, reportingProvider } from './sample-bills.ts'
import { LENT_RESOURCE, lentBody, lentKeyInput } from './sample-lent-key.ts'
import { STORED_SIGNATURE } from './stored-deposit.ts'
import { storePaidCall } from './stored-paid-call.ts'
import { storePayout } from './stored-payout.ts'
import { SUPPORT_ROWS } from './support-rows.ts'
import { newWallet } from './wallet.ts'

/** GraphQL also has the reason why an offer does not sell. It follows from the other fields. */
const ofOffer = (row: DoorRow) => without(['stopped_by'], row)
const ofKey = (row: DoorRow) => without(['key_type'], row)

const inTeam = ({ ids: { organization } }: DoorWorld) => ({ organization })
const inMain = ({ ids: { organization, workspace } }: DoorWorld) => ({ organization, workspace })

/** Creates another organisation of the user. */
const newTeam = ({ make }: DoorWorld) => make('/v1/organizations', { name: 'Another' })

async function newWorkspace(world: DoorWorld) {
  const organization = await newTeam(world)
  return { organization, workspace: await world.make(`/v1/organizations/${organization}/workspaces`, { name: 'New' }) }
}

const newOffer = async (world: DoorWorld) => ({ id: await world.make('/v1/seller/offers', wireOffer(world)) })
const aWebhook = ({ ids: { webhook } }: DoorWorld) => ({ id: webhook })
const newBuyerKey = async ({ make }: DoorWorld) => ({ id: await make('/v1/buyer/keys', { label: 'new' }) })

function wireOffer(world: DoorWorld) {
  const { model, apiKey, sellerBaseUrl, discount } = world.offerInput()
  return { model, api_key: apiKey, seller_base_url: sellerBaseUrl, discount }
}

const placeOf = (world: DoorWorld) => {
  const { apiKey, sellerBaseUrl: baseUrl } = world.offerInput()
  return { apiKey, baseUrl }
}

const SIGNING_IN: readonly DoorRow[] = by('nobody', [
  changes('auth.challenge', 'signInChallenge', 'signIn.challenge', ({ wallet }) => ({ address: wallet.address })),
  changes('seller-key.sign-in', 'signInForSellerKey', 'signIn.forSellerKey', ({ sign }) => sign()),
  changes('buyer-key.sign-in', 'signInForBuyerKey', 'signIn.forBuyerKey', ({ sign }) => sign()),
])

const TEAMS: readonly DoorRow[] = [
  changes('organization.create', 'createOrganization', 'organization.create', () => ({ name: 'Made' })),
  reads('organization.list', 'organizations', 'organization.list'),
  reads('organization.get', 'organization', 'organization.get', inTeam),
  changes('organization.update', 'updateOrganization', 'organization.update', async (world) => ({
    organization: await newTeam(world),
    name: 'Renamed',
  })),
  reads('member.list', 'members', 'member.list', inTeam),
  changes('member.update', 'updateMember', 'member.update', async (world) => ({
    ...inTeam(world),
    member: await world.joined(world.ids.organization),
    role: 'billing',
  })),
  changes('member.remove', 'removeMember', 'member.remove', async (world) => ({
    ...inTeam(world),
    member: await world.joined(world.ids.organization),
  })),
  reads('budget.list', 'budgets', 'budget.list', inTeam),
  changes('budget.set-member', 'setMemberBudget', 'budget.setMember', async (world) => ({
    ...inTeam(world),
    member: await world.joined(world.ids.organization),
    limitUsd: 50,
  })),
  changes('budget.set-workspace', 'setWorkspaceBudget', 'budget.setWorkspace', async (world) => ({
    ...(await newWorkspace(world)),
    limitUsd: 200,
  })),
  changes('invitation.create', 'createInvitation', 'invitation.create', (world) => ({
    ...inTeam(world),
    wallet: newWallet().address,
    role: 'viewer',
  })),
  reads('invitation.list', 'invitations', 'invitation.list', inTeam),
  changes('invitation.withdraw', 'withdrawInvitation', 'invitation.withdraw', async (world) => {
    const { organization } = world.ids
    const body = { wallet: newWallet().address, role: 'viewer' }
    return { organization, invitation: await world.make(`/v1/organizations/${organization}/invitations`, body) }
  }),
  reads('invitation.list-own', 'ownInvitations', 'invitation.own'),
  changes('invitation.accept', 'acceptInvitation', 'invitation.accept', async ({ invite }) => ({
    invitation: await invite(),
  })),
  changes('invitation.decline', 'declineInvitation', 'invitation.decline', async ({ invite }) => ({
    invitation: await invite(),
  })),
  changes('invite-link.create', 'createInviteLink', 'inviteLink.create', (world) => ({
    ...inTeam(world),
    role: 'viewer',
  })),
  reads('invite-link.list', 'inviteLinks', 'inviteLink.list', inTeam),
  changes('invite-link.revoke', 'revokeInviteLink', 'inviteLink.revoke', async (world) => ({
    ...inTeam(world),
    link: await world.make(`/v1/organizations/${world.ids.organization}/invite-links`, { role: 'viewer' }),
  })),
  changes('invite-link.open', 'openInviteLink', 'inviteLink.open', async ({ inviteLink }) => ({
    secret: await inviteLink(),
  })),
  changes('invite-link.accept', 'acceptInviteLink', 'inviteLink.accept', async ({ inviteLink }) => ({
    secret: await inviteLink(),
  })),
  changes('workspace.create', 'createWorkspace', 'workspace.create', async (world) => ({
    organization: await newTeam(world),
    name: 'First',
  })),
  reads('workspace.list', 'workspaces', 'workspace.list', inTeam),
  reads('workspace.list-own', 'ownWorkspaces', 'workspace.own'),
  changes('workspace.update', 'updateWorkspace', 'workspace.update', async (world) => ({
    ...(await newWorkspace(world)),
    name: 'Renamed',
  })),
  changes('workspace.close', 'closeWorkspace', 'workspace.close', newWorkspace),
  changes('workspace-key.create', 'createWorkspaceKey', 'workspaceKey.create', (world) => ({
    ...inMain(world),
    keyType: 'buyer',
    label: 'made',
  })),
  reads('workspace-key.list', 'workspaceKeys', 'workspaceKey.list', inMain),
  changes('workspace-key.revoke', 'revokeWorkspaceKey', 'workspaceKey.revoke', async (world) => {
    const place = await newWorkspace(world)
    const path = `/v1/organizations/${place.organization}/workspaces/${place.workspace}/keys`
    return { ...place, key: await world.make(path, { key_type: 'seller', label: 'new' }) }
  }),
  changes('organization-key.create', 'createOrganizationKey', 'organizationKey.create', (world) => ({
    ...inTeam(world),
    label: 'made',
    role: 'viewer',
  })),
  reads('organization-key.list', 'organizationKeys', 'organizationKey.list', inTeam),
  changes('organization-key.revoke', 'revokeOrganizationKey', 'organizationKey.revoke', async (world) => {
    const organization = await newTeam(world)
    const body = { label: 'new', role: 'admin' }
    return { organization, key: await world.make(`/v1/organizations/${organization}/keys`, body) }
  }),
  reads('audit.list', 'organizationAudit', 'audit.list', (world) => ({ ...inTeam(world), maxItems: 5 })),
  reads('audit.list-own', 'ownAudit', 'audit.own', () => ({ maxItems: 5 })),
  link('audit.export', 'organizationAuditExport', 'audit.export', inTeam),
  link('audit.export-own', 'ownAuditExport', 'audit.exportOwn'),
  reads('session.read', 'session', 'signIn.session'),
  reads('ways-in.read', 'waysIn', 'signIn.waysIn'),
]

const SELLING: readonly DoorRow[] = [
  ofOffer(changes('offer.create', 'createOffer', 'offer.create', ({ offerInput }) => offerInput())),
  ofOffer(reads('offer.list', 'offers', 'offer.list', () => ({ maxItems: 5 }))),
  without(
    ['offer'],
    reads('offer.figures', 'offerFigures', 'offer.figures', () => ({ window: '7d', sort: 'calls', maxItems: 5 })),
  ),
  ofOffer(reads('offer.get', 'offer', 'offer.get', ({ ids }) => ({ id: ids.offer }))),
  ofOffer(
    changes('offer.update', 'updateOffer', 'offer.update', async (world) => ({
      ...(await newOffer(world)),
      discount: 33.3,
      status: 'paused',
      capDailyUsd: 2,
      passes: ['unknown'],
    })),
  ),
  ofOffer(changes('offer.delete', 'deleteOffer', 'offer.delete', newOffer)),
  without(
    ['from'],
    reads('offer.series', 'offerSeries', 'offer.series', ({ ids }) => ({ id: ids.offer, window: '7d' })),
  ),
  without(['since'], changes('offer.share', 'offerShare', 'offer.share', newOffer)),
  without(['since'], reads('offer.yield', 'offerYield', 'offer.yield')),
  without(
    ['since'],
    reads('offer.reach', 'offerReach', 'offer.reach', () => ({ model: 'gpt-test', discount: 12.5 })),
  ),
  changes('offer.reset-health', 'resetOfferHealth', 'offer.resetHealth', newOffer),
  ofOffer(
    changes('offer.rotate-credential', 'rotateOfferCredential', 'offer.rotateCredential', async (world) => ({
      ...(await newOffer(world)),
      apiKey: world.offerInput().apiKey,
    })),
  ),
  changes('offer.bulk-create', 'bulkCreateOffers', 'offer.bulkCreate', (world) => ({
    ...placeOf(world),
    // This answer is one row. Of several rows, each arrives when it is done.
    offers: [{ model: 'gpt-test', discount: 10 }],
  })),
  reads('operation.get', 'sellerOperation', 'operation.get', ({ ids }) => ({ id: ids.operation })),
  changes('provider.discover', 'discoverModels', 'probe.discover', placeOf),
  changes('provider.test-connection', 'testConnection', 'probe.testConnection', (world) => ({
    ...placeOf(world),
    model: 'gpt-test',
  })),
  {
    ...changes('provider.test-health', 'testHealth', 'probe.testHealth', (world) => ({
      ...placeOf(world),
      models: ['gpt-test', 'no-such-model'],
    })),
    orderBy: 'model',
  },
  reads('health-log.list', 'healthLog', 'offer.healthLog', () => ({ maxItems: 5 })),
  reads('offer.outages', 'offerOutages', 'offer.outages', () => ({ since: 0, until: 4_000_000_000_000 })),
  reads('config.list', 'savedConfigs', 'config.list', () => ({ maxItems: 5 })),
  changes('config.delete', 'forgetConfig', 'config.delete', async (world) => {
    await newOffer(world)
    const { body } = await world.market.rest('GET', '/v1/seller/configs', { headers: world.callers.session })
    const { configs } = z.object({ configs: z.array(z.object({ id: z.string() })) }).parse(body)
    return {
      id: configs
        .map(({ id }) => id)
        .sort()
        .at(-1),
    }
  }),
  reads('earnings.get', 'earnings', 'earnings.get', () => ({ range: '7d' })),
  reads('earnings.history', 'sales', 'earnings.history', () => ({ limit: 5 })),
  link('earnings.export', 'salesExport', 'earnings.export'),
  changes('bill.import', 'importBill', 'bill.import', () => ({ provider: 'test', file: billOfToday() })),
  changes('bill.remove', 'removeBill', 'bill.remove', () => ({ provider: 'unused' })),
  changes('bill.fetch', 'fetchBill', 'bill.fetch', reportingProvider),
  reads('drift.read', 'drift', 'drift.read', () => ({ provider: 'test' })),
  without(['nextPayoutAt'], reads('payout.position', 'payouts', 'earnings.payouts')),
  without(
    ['authorization'],
    reads('payout.get', 'payout', 'payout.get', ({ ids }) => ({ id: ids.payout })),
  ),
  // No key signs for a treasury here, so the payout is held at every door.
  without(['authorization'], changes('payout.request', 'requestPayout', 'payout.request')),
  changes('seller-key.create', 'createSellerKey', 'sellerKey.create', () => ({ label: 'made' })),
  ofKey(reads('seller-key.list', 'sellerKeys', 'sellerKey.list')),
  ofKey(
    changes('seller-key.revoke', 'revokeSellerKey', 'sellerKey.revoke', async ({ make }) => ({
      id: await make('/v1/seller/keys', { label: 'new' }),
    })),
  ),
  changes('offer.bulk-cancel', 'bulkCancelOffers', 'offer.bulkCancel', async (world) => {
    const { market, callers } = world
    await market.rest('POST', '/v1/seller/offers/bulk-cancel', { headers: callers.session, body: {} })
    await newOffer(world)
    return {}
  }),
]

const BUYING: readonly DoorRow[] = [
  reads('buyer.me', 'me', 'buyer.me'),
  reads('credit.balance', 'credit', 'credit.balance'),
  without(['typed_data'], changes('deposit.open', 'openDeposit', 'deposit.open')),
  reads('deposit.list', 'deposits', 'deposit.list', () => ({ maxItems: 5 })),
  // The deposit is signed, so the chain is not asked.
  reads('deposit.sign', 'signDeposit', 'deposit.sign', ({ ids }) => ({
    id: ids.deposit,
    signature: `0x${'1'.repeat(130)}`,
  })),
  reads('allowance.read', 'allowance', 'allowance.read'),
  // The permit is part of the input, so the chain is not asked.
  reads('allowance.sign', 'signAllowance', 'allowance.sign', () => ({
    value: '5000000',
    deadline: 1_767_225_600,
    signature: STORED_SIGNATURE,
  })),
  changes('allowance.open', 'openAllowance', 'allowance.open'),
  changes('allowance.close', 'closeAllowance', 'allowance.close', async ({ market, callers }) => {
    await market.rest('POST', '/v1/buyer/allowance', { headers: callers.session, body: {} })
    return {}
  }),
  changes('buyer-key.create', 'createBuyerKey', 'buyerKey.create', () => ({ label: 'made', capDailyUsd: 1.5 })),
  ofKey(reads('buyer-key.list', 'buyerKeys', 'buyerKey.list')),
  ofKey(
    changes('buyer-key.update', 'updateBuyerKey', 'buyerKey.update', async (world) => ({
      ...(await newBuyerKey(world)),
      capMonthlyUsd: 20,
      modelsAllowed: ['gpt-test'],
    })),
  ),
  changes('buyer-key.rotate', 'rotateBuyerKey', 'buyerKey.rotate', newBuyerKey),
  ofKey(changes('buyer-key.revoke', 'revokeBuyerKey', 'buyerKey.revoke', newBuyerKey)),
  changes('preferences.put', 'putPreferences', 'preferences.put', () => ({ allowUntrusted: true, minDiscountPct: 5 })),
  reads('preferences.get', 'preferences', 'preferences.get'),
  reads('routing.simulate', 'routingSimulation', 'routing.simulate', () => ({
    policy: { minDiscountPct: 5, sort: 'latency' },
    window: 'yesterday',
  })),
  changes('own-provider.create', 'createOwnProvider', 'ownProvider.create', ({ market }) => ({
    apiKey: 'sk-good-own-made',
    baseUrl: market.provider.url,
    model: 'gpt-test',
    priority: 3,
  })),
  reads('own-provider.list', 'ownProviders', 'ownProvider.list'),
  changes('own-provider.remove', 'removeOwnProvider', 'ownProvider.remove', async (world) => {
    const { apiKey, baseUrl } = placeOf(world)
    return { id: await world.make('/v1/buyer/providers', { model: null, base_url: baseUrl, api_key: apiKey }) }
  }),
  ...CALL_ROWS,
  reads('usage.buckets', 'usageBuckets', 'usage.buckets', () => ({ period: '24h', groupBy: 'model' })),
  without(
    ['since'],
    reads('latency.get', 'latency', 'usage.latency', () => ({ period: '24h' })),
  ),
  link('usage.export', 'usageExport', 'usage.export', () => ({ period: '24h' })),
  reads('cap.list', 'caps', 'cap.list'),
  reads('job.list', 'jobs', 'job.list', () => ({ maxItems: 5 })),
  // The job has ended, so its provider is not asked.
  reads('job.cancel', 'cancelJob', 'job.cancel', ({ ids }) => ({ id: ids.job })),
  changes('savings.get', 'savings', 'savings.get', () => ({ period: '24h' })),
  reads('statement.list', 'statements', 'statement.list', () => ({ maxItems: 5 })),
  changes('webhook.create', 'createWebhook', 'webhook.create', ({ market }) => ({
    url: `${market.provider.url}/made`,
  })),
  reads('webhook.list', 'webhooks', 'webhook.list'),
  reads('webhook.get', 'webhook', 'webhook.get', aWebhook),
  changes('webhook.update', 'updateWebhook', 'webhook.update', (world) => ({
    ...aWebhook(world),
    label: 'changed',
    enabled: true,
  })),
  changes('webhook.remove', 'removeWebhook', 'webhook.remove', async ({ make, market }) => ({
    id: await make('/v1/buyer/webhooks', { url: `${market.provider.url}/new` }),
  })),
  changes('webhook.rotate-secret', 'rotateWebhookSecret', 'webhook.rotateSecret', aWebhook),
  changes('webhook.test', 'testWebhook', 'webhook.test', aWebhook),
  reads('webhook.deliveries', 'webhookDeliveries', 'webhook.deliveries', (world) => ({
    ...aWebhook(world),
    maxItems: 5,
  })),
  reads('credit.entries', 'creditEntries', 'credit.entries', () => ({ maxItems: 5 })),
]

const newLentKey = async ({ make }: DoorWorld) => ({ id: await make('/v1/resource/seller/offers', lentBody()) })

const LENDING: readonly DoorRow[] = [
  changes('lent-key.probe', 'probeKey', 'lentOffer.probe', () => {
    const { resourceType: resourceId, apiKey } = lentKeyInput()
    return { resourceId, apiKey }
  }),
  changes('lent-offer.create', 'createKeyOffer', 'lentOffer.create', lentKeyInput),
  reads('lent-offer.list', 'keyOffers', 'lentOffer.list', () => ({ maxItems: 5 })),
  reads('lent-offer.get', 'keyOffer', 'lentOffer.get', ({ ids }) => ({ id: ids.lentOffer })),
  changes('lent-offer.update', 'updateKeyOffer', 'lentOffer.update', async (world) => ({
    ...(await newLentKey(world)),
    discountPercent: 40,
    status: 'paused',
    capDailyUsd: 2,
    models: ['call'],
  })),
  changes('lent-offer.delete', 'deleteKeyOffer', 'lentOffer.delete', newLentKey),
  changes('lent-offer.purge', 'purgeKeyOffer', 'lentOffer.purge', newLentKey),
  reads('lent-offer.analytics', 'keyAnalytics', 'lentOffer.analytics', () => ({ range: '7d' })),
  reads('resource.access', 'resourceAccess', 'resource.access'),
  reads('resource.buyer-analytics', 'resourceAnalytics', 'resource.buyerAnalytics', () => ({ range: '7d' })),
  changes('lent-offer.delete-all', 'deleteKeyOffers', 'lentOffer.deleteAll', async (world) => {
    const { market, callers } = world
    await market.rest('DELETE', '/v1/resource/seller/offers', { headers: callers.session })
    await newLentKey(world)
    return {}
  }),
]

const ofModel = () => ({ model: 'gpt-test' })

const MARKET: readonly DoorRow[] = by('nobody', [
  reads('market.list', 'markets', 'market.list', () => ({ maxItems: 5 })),
  reads('market.get', 'market', 'market.get', ofModel),
  reads('market.book', 'orderBook', 'market.book', () => ({ model: 'gpt-test', maxItems: 5 })),
  reads('market.incidents', 'incidents', 'market.incidents', () => ({ maxItems: 5 })),
  reads('incident.list', 'declaredIncidents', 'market.declaredIncidents', () => ({ maxItems: 5 })),
  reads('market.rails', 'rails', 'market.rails'),
  reads('market.series', 'marketSeries', 'market.series'),
  reads('market.totals', 'marketTotals', 'market.totals'),
  reads('market.prices', 'priceHistory', 'market.prices', ofModel),
  without(['since'], reads('market.demand', 'demand', 'market.demand', ofModel)),
  reads('market.trades', 'trades', 'market.trades', () => ({ limit: 5 })),
  changes('payment.read', 'payment', 'request.payment', async (world) => ({ id: await storePaidCall(world.market) })),
  reads('resource.markets', 'resourceMarkets', 'resource.markets'),
  reads('resource.market', 'resourceMarket', 'resource.market', () => ({ id: LENT_RESOURCE })),
  reads('resource.book', 'resourceBook', 'resource.book', () => ({ id: LENT_RESOURCE, maxItems: 5 })),
])

const ON_MACHINE = machineOperator('test')
const REASON = 'for the test'

const delisted = async (world: DoorWorld) => {
  const { id } = await newOffer(world)
  await invoke(world.market.plane, ON_MACHINE, delistOffer, { id, reason: REASON })
  return { id, reason: REASON }
}
const heldPayout = async ({ market, accounts }: DoorWorld) => ({
  id: await storePayout(market, accounts.seller),
  reason: REASON,
})

/** Prices that no earlier row has set. */
let price = 0
const newPrices = () => ({
  model: 'claude-test',
  pricing: { prompt: `0.0000${10 + ++price}`, completion: '0.00009' },
  source: 'a test',
})
const ofNewPrices = () => ({ model: 'claude-test', pricing: { prompt: '0.000031', completion: '0.00009' } })
const ofNewName = { alias: 'a-name-by-hand', model: 'claude-test' }

const ofSlowness = { title: 'Slow answers', note: 'We look into it.', models: ['gpt-test'], providers: ['public'] }

/** An open incident, and its next update. */
async function declared({ market }: DoorWorld) {
  const { id } = await invoke(market.plane, ON_MACHINE, declareIncident, ofSlowness)
  return { id, note: 'A provider is slow.' }
}

const DECIDING: readonly DoorRow[] = by('operator', [
  ofOffer(
    changes('market-offer.delist', 'delistOffer', 'marketOffer.delist', async (world) => ({
      ...(await newOffer(world)),
      reason: REASON,
    })),
  ),
  ofOffer(changes('market-offer.restore', 'restoreOffer', 'marketOffer.restore', delisted)),
  changes('feature.put', 'putFeature', 'feature.put', () => ({ name: 'new_offers', isOn: true, reason: REASON })),
  changes('payouts.release', 'releaseTransfer', 'payouts.release', heldPayout),
  changes('payouts.hold', 'holdTransfer', 'payouts.hold', async (world) => {
    const input = await heldPayout(world)
    await invoke(world.market.plane, ON_MACHINE, releaseTransfer, input)
    return input
  }),
  changes('payouts.cancel', 'cancelTransfer', 'payouts.cancel', heldPayout),
  without(['effective_at'], changes('price.preview', 'pricePreview', 'price.preview', ofNewPrices)),
  changes('price.put', 'putPrices', 'price.put', newPrices),
  changes('incident.declare', 'declareIncident', 'incident.declare', () => ofSlowness),
  changes('incident.update', 'updateIncident', 'incident.update', async (world) => ({
    ...(await declared(world)),
    title: 'Slow answers of one model',
    state: 'identified',
    models: ['claude-test'],
  })),
  changes('incident.end', 'endIncident', 'incident.end', declared),
  changes('alias.put', 'putAlias', 'alias.put', () => ofNewName),
  changes('alias.remove', 'removeAlias', 'alias.remove', async ({ market }) => {
    await invoke(market.plane, ON_MACHINE, putAlias, ofNewName)
    return { alias: ofNewName.alias }
  }),
])

/** Every operation with two doors or three. */
export const DOOR_ROWS: readonly DoorRow[] = [
  ...SIGNING_IN,
  ...TEAMS,
  ...BUYING,
  ...SELLING,
  ...LENDING,
  ...MARKET,
  ...OPERATING_ROWS,
  ...SUPPORT_ROWS,
  ...DECIDING,
]
