import { integer, json, oneOf, text, timestamp } from './column.ts'

/** Tables of `0065_resources.sql`. */
export const RESOURCE_TABLES = {
  resource: { id: text(), kind: oneOf(['resource', 'family']), version: integer(), updated_at: timestamp() },
  resource_version: {
    resource: text(),
    version: integer(),
    record: json(),
    source: text(),
    actor: text(),
    created_at: timestamp(),
  },
}
