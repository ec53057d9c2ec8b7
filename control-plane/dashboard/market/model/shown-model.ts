import type { PublicModelQuery } from '#control-plane/dashboard/data/documents/public-model.ts'

export type ShownModel = NonNullable<PublicModelQuery['market']>
