// @ts-check
// Writes the types of the page's queries: `npm run dashboard:types`.
import { writeFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { generate } from '@graphql-codegen/cli'

const path = (/** @type {string} */ name) => fileURLToPath(new URL(`../${name}`, import.meta.url))
export const TYPES_FILE = path('control-plane/dashboard/data/documents.ts')

/** The documents with their types, as one text. */
export async function renderDocuments() {
  const [file] = await generate(
    {
      schema: path('control-plane/api/graphql/schema.graphql'),
      documents: [path('docs/graphql/*.graphql'), path('control-plane/dashboard/**/*.graphql')],
      silent: true,
      generates: {
        [TYPES_FILE]: {
          plugins: ['typescript-operations', 'typed-document-node'],
          config: {
            documentMode: 'string',
            useTypeImports: true,
            enumsAsTypes: true,
            skipTypename: true,
            onlyOperationTypes: true,
            scalars: { ID: 'string' },
            avoidOptionals: false,
            immutableTypes: true,
          },
        },
      },
    },
    false,
  )
  const text = file?.content ?? ''
  // Documents that a screen does not use are left out of it.
  return text.replaceAll('= new TypedDocumentString(', '= /* @__PURE__ */ new TypedDocumentString(')
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await writeFile(TYPES_FILE, await renderDocuments())
