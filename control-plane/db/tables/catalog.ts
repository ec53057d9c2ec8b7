import type { Endpoint } from '#shared/catalog/model.ts'
import { boolean, json, nullable, text, texts, timestamp, withDefault } from './column.ts'

/** Tables of `0004_catalog.sql`, `0014_provider_endpoints.sql` and `0019_provider_paths.sql`. */
export const CATALOG_TABLES = {
  provider: {
    id: text(),
    name: text(),
    base_url: text(),
    host: text(),
    is_trusted: boolean(),
    cost_reference_url: nullable(text()),
    updated_at: timestamp(),
    endpoints: nullable(texts<Endpoint>()),
    base_paths: withDefault(texts()),
    file_hosts: withDefault(texts()),
    hosts: withDefault(texts()),
  },
  model: { id: text(), is_sandbox: boolean(), body: json(), updated_at: timestamp() },
  model_alias: { alias: text(), model: text(), is_manual: withDefault(boolean()) },
  model_price: {
    version: text(),
    model: text(),
    effective_at: timestamp(),
    source: text(),
    unit_prices: json(),
    overrides: json(),
    minimums: json(),
  },
  catalog_change: {
    id: text(),
    at: timestamp(),
    effective_at: timestamp(),
    model: text(),
    field: text(),
    before: nullable(json()),
    after: nullable(json()),
    source: text(),
    actor: text(),
  },
}
