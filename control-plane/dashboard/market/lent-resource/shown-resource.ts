import type { PublicResourceQuery } from '#control-plane/dashboard/data/documents/public-resource.ts'

export type ShownResource = NonNullable<PublicResourceQuery['resourceMarket']>
