import { z } from 'zod'
import { NamedMeSchema, NamedPreferencesSchema, nameMe, namePreferences } from '#control-plane/api/buyer-synonyms.ts'
import { updateBuyerKey } from '#control-plane/services/keys/key-limits.ts'
import { rotateBuyerKey } from '#control-plane/services/keys/key-rotation.ts'
import { createBuyerKey, listBuyerKeys, revokeBuyerKey } from '#control-plane/services/keys/keys.ts'
import { getPreferences, putPreferences } from '#control-plane/services/routing/buyer-policy.ts'
import {
  createOwnProvider,
  listBuyerProviders,
  removeOwnProvider,
  retiredFallbackKey,
} from '#control-plane/services/routing/own-providers.ts'
import { getBalance, getMe } from '#control-plane/services/usage/buyer-account.ts'
import { getCallBill } from '#control-plane/services/usage/call-bill.ts'
import { getRequest, listRequests, PaymentRecordSchema, readPayment } from '#control-plane/services/usage/lookup.ts'
import { LookupRecordSchema } from '#shared/contract/lookup.ts'
import { ALLOWANCE_ROWS } from './allowances.ts'
import { DEPOSIT_ROWS } from './deposits.ts'
import { BUYER_KEY, BUYER_KEYS, NEW_BUYER_KEY, ROTATED_KEY } from './keys.ts'
import type { RestRow } from './route.ts'
import { restRow, writtenAs } from './route.ts'

const envelope = 'v1'
const ME = writtenAs(NamedMeSchema, nameMe)
const PREFERENCES = writtenAs(NamedPreferencesSchema, namePreferences)

const BY_PAYER = restRow({ method: 'GET', path: '/v1/requests/:id', tag: 'Calls', envelope, operation: getRequest })
const BY_ANYBODY = restRow({ method: 'GET', path: '/v1/requests/:id', tag: 'Calls', envelope, operation: readPayment })
/** A paying wallet has no key. It asks by the request id alone, and the answer holds the payment alone. */
const LOOK_UP: RestRow = {
  ...BY_PAYER,
  output: z.union([LookupRecordSchema, PaymentRecordSchema]),
  serve: (ctx, request) => (request.actor.kind === 'nobody' ? BY_ANYBODY : BY_PAYER).serve(ctx, request),
}

/** The buyer surface: `/v1/buyer`, the balance, and look-ups of calls that Redis no longer has. */
export const BUYER_ROWS: readonly RestRow[] = [
  restRow({ method: 'GET', path: '/v1/buyer/me', tag: 'Account', envelope, operation: getMe, body: ME }),
  restRow({ method: 'GET', path: '/v1/payments/balance', tag: 'Account', envelope, operation: getBalance }),
  ...DEPOSIT_ROWS,
  ...ALLOWANCE_ROWS,
  restRow({
    method: 'POST',
    path: '/v1/buyer/keys',
    tag: 'Buyer keys',
    refusals: [403],
    status: 201,
    envelope,
    operation: createBuyerKey,
    body: NEW_BUYER_KEY,
  }),
  restRow({
    method: 'GET',
    path: '/v1/buyer/keys',
    tag: 'Buyer keys',
    envelope,
    operation: listBuyerKeys,
    body: BUYER_KEYS,
  }),
  restRow({
    method: 'PATCH',
    path: '/v1/buyer/keys/:id',
    tag: 'Buyer keys',
    refusals: [403, 409],
    envelope,
    operation: updateBuyerKey,
    body: BUYER_KEY,
  }),
  restRow({
    method: 'POST',
    path: '/v1/buyer/keys/:id/rotate',
    tag: 'Buyer keys',
    refusals: [403],
    envelope,
    operation: rotateBuyerKey,
    body: ROTATED_KEY,
  }),
  restRow({
    method: 'DELETE',
    path: '/v1/buyer/keys/:id',
    tag: 'Buyer keys',
    refusals: [403],
    status: 204,
    envelope,
    operation: revokeBuyerKey,
  }),
  restRow({
    method: 'GET',
    path: '/v1/buyer/preferences',
    tag: 'Account',
    envelope,
    operation: getPreferences,
    body: PREFERENCES,
  }),
  restRow({
    method: 'PUT',
    path: '/v1/buyer/preferences',
    tag: 'Account',
    refusals: [403],
    envelope,
    operation: putPreferences,
    body: PREFERENCES,
  }),
  restRow({
    method: 'POST',
    path: '/v1/buyer/providers',
    tag: 'Account',
    refusals: [403, 502],
    status: 201,
    envelope,
    operation: createOwnProvider,
  }),
  restRow({ method: 'GET', path: '/v1/buyer/providers', tag: 'Account', envelope, operation: listBuyerProviders }),
  restRow({
    method: 'DELETE',
    path: '/v1/buyer/providers/:id',
    tag: 'Account',
    refusals: [403],
    status: 204,
    envelope,
    operation: removeOwnProvider,
  }),
  restRow({
    method: 'DELETE',
    path: '/v1/buyer/providers',
    tag: 'Account',
    refusals: [403],
    words: { summary: 'Delete your own provider key that the body names' },
    status: 204,
    envelope,
    operation: removeOwnProvider,
  }),
  ...(['GET', 'POST', 'PUT', 'DELETE'] as const).map((method) =>
    restRow({
      tag: 'Account',
      refusals: [410],
      method,
      path: '/v1/buyer/fallback-key',
      envelope,
      operation: retiredFallbackKey,
    }),
  ),
  restRow({ method: 'GET', path: '/v1/requests/:id/bill', tag: 'Calls', envelope, operation: getCallBill }),
  restRow({ method: 'GET', path: '/v1/requests', tag: 'Calls', envelope, operation: listRequests }),
  LOOK_UP,
]
