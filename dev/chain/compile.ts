/**
 * Compiles the contracts of the development chain into `artifacts.json`. Run `npm run contracts` after a change to one
 * of them. Only that command needs the compiler.
 */
import { writeFileSync } from 'node:fs'
import solc from 'solc'
import { z } from 'zod'
import { AppError } from '#shared/errors.ts'
import { ARTIFACTS_FILE, CONTRACT_NAMES, readSources, sourceDigest } from './artifacts.ts'

const OutputSchema = z.object({
  errors: z.array(z.object({ severity: z.string(), formattedMessage: z.string() })).default([]),
  contracts: z.record(
    z.string(),
    z.record(z.string(), z.object({ evm: z.object({ deployedBytecode: z.object({ object: z.string() }) }) })),
  ),
})

const sources = readSources()
const settings = {
  optimizer: { enabled: true, runs: 1_000 },
  evmVersion: 'cancun',
  // The code contains no hash of the sources' paths, so that it is the same on every machine.
  metadata: { bytecodeHash: 'none', appendCBOR: false },
  outputSelection: { '*': { '*': ['evm.deployedBytecode.object'] } },
}
const input = {
  language: 'Solidity',
  sources: Object.fromEntries(sources.map(({ name, content }) => [name, { content }])),
  settings,
}
const output = OutputSchema.parse(JSON.parse(solc.compile(JSON.stringify(input))))
const faults = output.errors.map(({ formattedMessage }) => formattedMessage)
if (faults.length > 0) throw new AppError('internal_error', { message: faults.join('\n') })
const runtime = Object.fromEntries(
  CONTRACT_NAMES.map((name) => [
    name,
    `0x${output.contracts[`${name}.sol`]?.[name]?.evm.deployedBytecode.object ?? ''}`,
  ]),
)
const artifacts = { compiler: solc.version(), sources: sourceDigest(sources), runtime }
writeFileSync(ARTIFACTS_FILE, `${JSON.stringify(artifacts, null, 2)}\n`)
