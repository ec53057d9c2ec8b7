import { builder } from './builder.ts'
import { letPartsFail } from './nullable-roots.ts'
import { chargeObjectsOnly } from './object-costs.ts'
import './buyer-keys.ts'
import './buyer-reads.ts'
import './caps.ts'
import './deposits.ts'
import './earnings.ts'
import './errors.ts'
import './jobs.ts'
import './keys.ts'
import './lent-offers.ts'
import './market.ts'
import './market-figures.ts'
import './offers.ts'
import './operator-desk.ts'
import './operator-market.ts'
import './operator-payments.ts'
import './organizations.ts'
import './own-providers.ts'
import './requests.ts'
import './seller.ts'
import './sign-in.ts'
import './status.ts'
import './subscriptions.ts'
import './viewer.ts'
import './workspaces.ts'
import './webhooks.ts'

builder.queryType({})
builder.mutationType({})

/** The GraphQL schema. Each imported part adds its fields. */
export const schema = chargeObjectsOnly(letPartsFail(builder.toSchema()))
