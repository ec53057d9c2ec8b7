// @ts-check
// Writes the types of the page's queries: `npm run dashboard:types`.
import { mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { basename } from 'node:path'
import { fileURLToPath } from 'node:url'
import { codegen } from '@graphql-codegen/core'
import * as typedDocuments from '@graphql-codegen/typed-document-node'
import * as operations from '@graphql-codegen/typescript-operations'
import { buildASTSchema, parse } from 'graphql'
import { readPageQueries } from './page-queries.mjs'

const path = (/** @type {string} */ name) => fileURLToPath(new URL(`../${name}`, import.meta.url))
/** The folder of the typed documents: a module for each file of queries, so that a screen loads only its own. */
const TYPES_FOLDER = path('control-plane/dashboard/data/documents')

const OPTIONS = {
  documentMode: 'string',
  useTypeImports: true,
  enumsAsTypes: true,
  skipTypename: true,
  onlyOperationTypes: true,
  scalars: { ID: 'string', CatalogRow: 'unknown' },
  avoidOptionals: false,
  immutableTypes: true,
}
/** The class of all documents stands once, in a module of its own. */
const OWN_CLASS = /export class TypedDocumentString[\s\S]*?\n}\n/
const OWN_IMPORT = /import type \{ DocumentTypeDecoration \}.*\n/
/** The name of a fragment, which the plugin writes beside its text. */
const FRAGMENT_NAME = /`, \{"fragmentName":"\w+"\}\)/g
const SHARED_CLASS = "import { TypedDocumentString } from '#control-plane/dashboard/data/typed-document.ts'\n"

/**
 * The module of one file of queries.
 * @param {{ schema: import('graphql').DocumentNode, schemaAst: import('graphql').GraphQLSchema }} built
 * @param {string} location its path
 * @param {import('graphql').DocumentNode} document
 * @param {string} filename the module's
 */
async function render(built, location, document, filename) {
  const content = await codegen({
    ...built,
    filename,
    documents: [{ location, document }],
    plugins: [{ operations: OPTIONS }, { typedDocuments: OPTIONS }],
    pluginMap: { operations, typedDocuments },
    config: {},
  })
  return (
    content
      .replace(OWN_CLASS, '')
      .replace(OWN_IMPORT, SHARED_CLASS)
      .replaceAll(FRAGMENT_NAME, '`)')
      // Documents that a screen does not use are left out of it.
      .replaceAll('= new TypedDocumentString(', '= /* @__PURE__ */ new TypedDocumentString(')
  )
}

/**
 * The modules of the documents with their types: name and text.
 * @returns {Promise<Map<string, string>>}
 */
async function renderDocuments() {
  const schema = parse(await readFile(path('control-plane/api/graphql/schema.graphql'), 'utf8'))
  // Built once: a schema for each file takes three times as long.
  const built = { schema, schemaAst: buildASTSchema(schema) }
  /** @type {Map<string, string>} */
  const modules = new Map()
  for (const [source, document] of await readPageQueries()) {
    const name = `${basename(source, '.graphql')}.ts`
    if (modules.has(name)) throw new Error(`two files of queries would be written to ${name}`)
    modules.set(name, await render(built, source, document, name))
  }
  return modules
}

/** Writes the modules of the documents. A module that is as it should be is left alone, and so is a page made of it. */
export async function writeDocuments() {
  const modules = await renderDocuments()
  await mkdir(TYPES_FOLDER, { recursive: true })
  const old = (await readdir(TYPES_FOLDER)).filter((name) => name.endsWith('.ts') && !modules.has(name))
  for (const name of old) await rm(`${TYPES_FOLDER}/${name}`, { force: true })
  for (const [name, text] of modules) await writeWhole(`${TYPES_FOLDER}/${name}`, text)
}

/**
 * Writes a file that another process may be reading.
 * @param {string} file
 * @param {string} text
 */
async function writeWhole(file, text) {
  if ((await readFile(file, 'utf8').catch(() => undefined)) === text) return
  const draft = `${file}.${process.pid}`
  await writeFile(draft, text)
  await rename(draft, file)
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await writeDocuments()
