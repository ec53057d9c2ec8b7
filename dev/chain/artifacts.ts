import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { z } from 'zod'

/** The contracts of a new development chain. */
export const CONTRACT_NAMES = ['LocalUsdc', 'LocalPermit2', 'LocalUptoProxy', 'LocalMulticall'] as const
export type ContractName = (typeof CONTRACT_NAMES)[number]

const FOLDER = new URL('./contracts/', import.meta.url)
export const ARTIFACTS_FILE = new URL('./artifacts.json', import.meta.url)

const CodeSchema = z.templateLiteral(['0x', z.string().regex(/^(?:[0-9a-f]{2})+$/)])

const ArtifactsSchema = z.strictObject({
  compiler: z.string(),
  /** The digest of the compiled sources. */
  sources: z.string(),
  runtime: z.strictObject({
    LocalUsdc: CodeSchema,
    LocalPermit2: CodeSchema,
    LocalUptoProxy: CodeSchema,
    LocalMulticall: CodeSchema,
  }),
})

/** The compiled contracts: runtime code as hex by name. Their constructors store nothing. */
export type ChainCode = z.infer<typeof ArtifactsSchema>

export function readArtifacts(): ChainCode {
  return ArtifactsSchema.parse(JSON.parse(readFileSync(ARTIFACTS_FILE, 'utf8')))
}

export type Source = { readonly name: string; readonly content: string }

/** Reads every Solidity file, in the order of names. */
export function readSources(): readonly Source[] {
  const names = readdirSync(FOLDER).filter((name) => name.endsWith('.sol'))
  return names.sort().map((name) => ({ name, content: readFileSync(new URL(name, FOLDER), 'utf8') }))
}

export function sourceDigest(sources: readonly Source[]): string {
  const hash = createHash('sha256')
  for (const { name, content } of sources) hash.update(`${name}\n${content}\n`)
  return hash.digest('hex')
}
