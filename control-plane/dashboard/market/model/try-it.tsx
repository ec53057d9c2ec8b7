import { Link } from '@tanstack/react-router'
import { Code } from '#control-plane/dashboard/ui/copy.tsx'
import { Card } from '#control-plane/dashboard/ui/page.tsx'
import type { ShownModel } from './shown-model.ts'

/** Endpoints whose models the playground asks. */
const IN_PLAYGROUND = ['chat', 'image', 'speech', 'video', 'music']

export function TryIt({ market, url }: { readonly market: ShownModel; readonly url: string }) {
  const isPlayed = market.endpoints.some((endpoint) => IN_PLAYGROUND.includes(endpoint))
  return (
    <Card
      title="Try it"
      about="Every answer says what it cost"
      actions={
        isPlayed ? (
          <Link to="/playground" search={{ models: market.id }} className="button" data-kind="primary">
            Open in the playground
          </Link>
        ) : undefined
      }
    >
      <Code label="A call to paste" text={callOf(market, url)} />
    </Card>
  )
}

function callOf({ id, endpoints }: ShownModel, url: string): string {
  const [path, body] = ENDPOINTS.find(([name]) => endpoints.includes(name))?.slice(1) ?? ['/v1/models', undefined]
  const text =
    body === undefined ? '' : ` \\\n  -H "Content-Type: application/json" \\\n  -d '${body.replace('MODEL', id)}'`
  return `curl ${url}${path} \\\n  -H "Authorization: Bearer $MARKET_KEY"${text}`
}

const ENDPOINTS = [
  ['chat', '/v1/chat/completions', '{"model":"MODEL","messages":[{"role":"user","content":"Say hello."}]}'],
  [
    'messages',
    '/compat/v1/messages',
    '{"model":"MODEL","max_tokens":64,"messages":[{"role":"user","content":"Say hello."}]}',
  ],
  ['embeddings', '/v1/embeddings', '{"model":"MODEL","input":"Hello"}'],
  ['speech', '/v1/audio/speech', '{"model":"MODEL","voice":"alloy","input":"Hello"}'],
  ['image-generation', '/v1/images/generations', '{"model":"MODEL","prompt":"A lighthouse in fog"}'],
  ['images', '/v1/images/generations', '{"model":"MODEL","prompt":"A lighthouse in fog"}'],
  ['video', '/v1/videos', '{"model":"MODEL","prompt":"Waves at night"}'],
] as const
