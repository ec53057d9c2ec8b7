import {
  BillImportSchema,
  BillRemovalSchema,
  fetchBill,
  importBill,
  removeBill,
} from '#control-plane/services/drift/bills.ts'
import {
  DriftRowSchema,
  DriftSchema,
  listProviderDrift,
  MAX_DRIFT_ROWS,
  ProviderDriftSchema,
  readDrift,
  StatedDriftSchema,
} from '#control-plane/services/drift/drift.ts'
import { builder } from './builder.ts'
import { objectOf } from './objects.ts'
import { fieldOf } from './operation-fields.ts'
import { LIST_COST } from './page.ts'

const Import = objectOf('BillImport', BillImportSchema, { authScopes: { seller: true } })

const Removal = objectOf('BillRemoval', BillRemovalSchema, { authScopes: { seller: true } })

const Drift = objectOf('Drift', DriftSchema, {
  authScopes: { seller: true },
  types: { rows: objectOf('DriftRow', DriftRowSchema), stated: objectOf('StatedDrift', StatedDriftSchema) },
  costs: { rows: { field: 1, multiplier: MAX_DRIFT_ROWS }, stated: { field: 1 } },
})

const ProviderDrift = objectOf('ProviderDrift', ProviderDriftSchema, { authScopes: { operator: true } })

builder.queryFields((t) => ({
  drift: t.field({ type: Drift, ...fieldOf(readDrift) }),
  providerDrift: t.field({ type: [ProviderDrift], complexity: LIST_COST, ...fieldOf(listProviderDrift) }),
}))

builder.mutationFields((t) => ({
  importBill: t.field({ type: Import, ...fieldOf(importBill) }),
  fetchBill: t.field({ type: Import, ...fieldOf(fetchBill) }),
  removeBill: t.field({ type: Removal, ...fieldOf(removeBill) }),
}))
