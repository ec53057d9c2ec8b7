import { z } from 'zod'
import { listProviders } from '#control-plane/db/catalog.ts'
import { defineOperation } from '#control-plane/operation/operation.ts'

/** A provider whose keys sellers may list. A `*` in a base URL is the seller's own part of the host. */
export const ProviderChoiceSchema = z
  .object({
    id: z.string(),
    name: z.string(),
    baseUrl: z.string(),
    trusted: z.boolean().describe('True where default routing may use its offers.'),
  })
  .meta({ id: 'ProviderChoice', description: 'A provider whose keys sellers may list.' })
export type ProviderChoice = z.infer<typeof ProviderChoiceSchema>

/** Lists the providers that sellers choose from and that buyers name in their rules, by name. */
export const listProviderChoices = defineOperation({
  name: 'provider.choices',
  summary: 'List the providers whose keys can be sold',
  about: 'The allow-list of the market, with the base URL of each provider.',
  access: 'public',
  input: z.strictObject({}),
  limit: 'read',
  idempotency: 'none',
  output: z.array(ProviderChoiceSchema).readonly(),
  run: async (ctx): Promise<readonly ProviderChoice[]> =>
    (await listProviders(ctx.db))
      .map(({ id, name, baseUrl, isTrusted }) => ({ id, name, baseUrl, trusted: isTrusted }))
      .sort((left, right) => left.name.localeCompare(right.name, 'en')),
})
