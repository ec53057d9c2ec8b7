// @ts-check
import { readdir, readFile } from 'node:fs/promises'
import { Kind, parse, visit } from 'graphql'

/** @typedef {import('graphql').DocumentNode} DocumentNode */
/** @typedef {import('graphql').FragmentDefinitionNode} FragmentDefinitionNode */

const FOLDER = new URL('../control-plane/dashboard/', import.meta.url)
/** The selections that several files of queries use. */
const FRAGMENTS = 'data/fragments.graphql'

/**
 * Reads the page's files of queries.
 * @returns {Promise<Map<string, DocumentNode>>} by the path below the page's folder, each with the fragments that it uses
 */
export async function readPageQueries() {
  const names = (await readdir(FOLDER, { recursive: true })).filter((name) => name.endsWith('.graphql'))
  const documents = new Map(
    await Promise.all(names.map(async (name) => /** @type {const} */ ([name, await read(name)]))),
  )
  const fragments = fragmentsOf(documents.get(FRAGMENTS) ?? { kind: Kind.DOCUMENT, definitions: [] })
  documents.delete(FRAGMENTS)
  return new Map([...documents].map(([name, document]) => [name, withFragments(document, fragments)]))
}

/** @param {string} name */
const read = async (name) => parse(await readFile(new URL(name, FOLDER), 'utf8'))

/**
 * @param {DocumentNode} document
 * @returns {Map<string, FragmentDefinitionNode>} by name
 */
function fragmentsOf({ definitions }) {
  return new Map(definitions.flatMap((one) => (one.kind === Kind.FRAGMENT_DEFINITION ? [[one.name.value, one]] : [])))
}

/**
 * Adds the shared fragments that a document uses, and those that they use.
 * @param {DocumentNode} document
 * @param {Map<string, FragmentDefinitionNode>} shared
 * @returns {DocumentNode}
 */
function withFragments(document, shared) {
  const own = fragmentsOf(document)
  /** @type {Set<FragmentDefinitionNode>} */
  const used = new Set()
  /** @param {import('graphql').ASTNode} node */
  const collect = (node) => {
    visit(node, {
      FragmentSpread({ name }) {
        const fragment = own.has(name.value) ? undefined : shared.get(name.value)
        if (fragment === undefined || used.has(fragment)) return
        used.add(fragment)
        collect(fragment)
      },
    })
  }
  collect(document)
  return used.size === 0 ? document : { ...document, definitions: [...document.definitions, ...used] }
}
