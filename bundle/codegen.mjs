// @ts-check
// Writes the types of the page's queries: `npm run dashboard:types`.
import { mkdir, readdir, rm, writeFile } from 'node:fs/promises'
import { basename } from 'node:path'
import { fileURLToPath } from 'node:url'
import { generate } from '@graphql-codegen/cli'

const path = (/** @type {string} */ name) => fileURLToPath(new URL(`../${name}`, import.meta.url))
/** The folder of the typed documents: a module for each file of queries, so that a screen loads only its own. */
export const TYPES_FOLDER = path('control-plane/dashboard/data/documents')

const OPTIONS = {
  documentMode: 'string',
  useTypeImports: true,
  enumsAsTypes: true,
  skipTypename: true,
  onlyOperationTypes: true,
  scalars: { ID: 'string' },
  avoidOptionals: false,
  immutableTypes: true,
}
/** The class of all documents stands once, in a module of its own. */
const OWN_CLASS = /export class TypedDocumentString[\s\S]*?\n}\n/
const OWN_IMPORT = /import type \{ DocumentTypeDecoration \}.*\n/
/** What it says of a fragment beside its text. */
const FRAGMENT_NAME = /`, \{"fragmentName":"\w+"\}\)/g
const SHARED_CLASS = "import { TypedDocumentString } from '#control-plane/dashboard/data/typed-document.ts'\n"

/** @returns {Promise<string[]>} the files of queries */
async function queryFiles() {
  const screens = (await readdir(path('docs/graphql'))).map((name) => path(`docs/graphql/${name}`))
  const own = await readdir(path('control-plane/dashboard'), { recursive: true })
  return [...screens, ...own.map((name) => path(`control-plane/dashboard/${name}`))].filter((name) =>
    name.endsWith('.graphql'),
  )
}

/**
 * The modules of the documents with their types: name and text.
 * @returns {Promise<Map<string, string>>}
 */
export async function renderDocuments() {
  const sources = await queryFiles()
  const names = sources.map((source) => `${basename(source, '.graphql')}.ts`)
  const twice = names.find((name, at) => names.indexOf(name) !== at)
  if (twice !== undefined) throw new Error(`two files of queries would be written to ${twice}`)
  const plugins = ['typescript-operations', 'typed-document-node']
  const generates = sources.map((source, at) => [
    `${TYPES_FOLDER}/${names[at]}`,
    { documents: [source], plugins, config: OPTIONS },
  ])
  const files = await generate(
    {
      schema: path('control-plane/api/graphql/schema.graphql'),
      silent: true,
      generates: Object.fromEntries(generates),
    },
    false,
  )
  return new Map(
    files.map((/** @type {{ filename: string, content: string }} */ { filename, content }) => [
      basename(filename),
      content
        .replace(OWN_CLASS, '')
        .replace(OWN_IMPORT, SHARED_CLASS)
        .replaceAll(FRAGMENT_NAME, '`)')
        // Documents that a screen does not use are left out of it.
        .replaceAll('= new TypedDocumentString(', '= /* @__PURE__ */ new TypedDocumentString('),
    ]),
  )
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const modules = await renderDocuments()
  await rm(TYPES_FOLDER, { recursive: true, force: true })
  await mkdir(TYPES_FOLDER)
  for (const [name, text] of modules) await writeFile(`${TYPES_FOLDER}/${name}`, text)
}
