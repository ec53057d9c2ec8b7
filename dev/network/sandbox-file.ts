import { renameSync, rmSync, writeFileSync } from 'node:fs'
import type { NetworkUrls } from './environment.ts'

/** The content of `sandbox.json`: the facts of a running network. */
export type Sandbox = NetworkUrls & {
  readonly database_url: string
  readonly redis_url: string
  readonly rpc_url: string
  readonly usdc_address: string
  readonly buyer_key: string
  readonly seller_key: string
  readonly management_key: string
  /** Keys of wallets. The buyer's has USDC on the development chain. */
  readonly buyer_private_key: string
  readonly seller_private_key: string
  readonly pids: Readonly<Record<string, number>>
}

/** Writes the file in one step. Only its owner can read it. */
export function writeSandbox(file: string, sandbox: Sandbox): void {
  const draft = `${file}.draft`
  writeFileSync(draft, `${JSON.stringify(sandbox, null, 2)}\n`, { mode: 0o600 })
  renameSync(draft, file)
}

/** Removes the file. A file means that the network answers, so it is removed before the network stops. */
export function removeSandbox(file: string): void {
  rmSync(file, { force: true })
}

/** A link that signs one browser in as a sample user of a side. It works once, and for a day. */
export type SignInLink = { readonly side: string; readonly url: string }

/** The text for a person once every process answers. */
export function describeSandbox(sandbox: Sandbox, file: string, links: readonly SignInLink[]): string {
  const body = '{"model":"gpt-5-mini","messages":[{"role":"user","content":"Say hello."}]}'
  return `
The market is ready.

  the page          ${sandbox.dashboard_url}/
${links.map(({ side, url }) => `  as the ${side.padEnd(11)}${url}\n`).join('')}  buyers call       ${sandbox.api_base_url}/v1
  control plane     ${sandbox.control_plane_url}   (GraphQL ${sandbox.graphql_url}, tRPC ${sandbox.trpc_url})
  to read           ${sandbox.api_base_url}/docs
  sample provider   ${sandbox.provider_url}
  buyer key         ${sandbox.buyer_key}
  seller key        ${sandbox.seller_key}
  management key    ${sandbox.management_key}
  all of this       ${file}

Try it:

  curl -s ${sandbox.api_base_url}/v1/chat/completions \\
    -H 'Authorization: Bearer ${sandbox.buyer_key}' \\
    -H 'Content-Type: application/json' \\
    -d '${body}'

${describePayment(sandbox, file)}Ctrl-C stops everything and keeps the data.
`
}

/**
 * The lines of a call that a wallet pays for, without an account. The key stays in its file, because printed text is
 * kept.
 */
function describePayment({ api_base_url: url, rpc_url, buyer_private_key: key }: Sandbox, file: string): string {
  if (rpc_url === '' || key === '') return ''
  const read = (name: string) => `"$(node -p 'require(${JSON.stringify(file)}).${name}')"`
  return `Pay for one call with a wallet (USDC, no ETH, no account):

  WALLET_KEY=${read('buyer_private_key')} \\
    npx market pay Say hello. --url ${url} --private-key-env WALLET_KEY --yes \\
    --rpc-url ${read('rpc_url')}

`
}
