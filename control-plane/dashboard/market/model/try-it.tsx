import { lazy, Suspense } from 'react'
import { Code } from '#control-plane/dashboard/ui/copy.tsx'
import { Card } from '#control-plane/dashboard/ui/page.tsx'
import { Skeleton } from '#control-plane/dashboard/ui/states.tsx'
import type { ShownModel } from './shown-model.ts'

/** The form stands at the end of the screen, so its script loads after the scripts of the parts above. */
const Asking = lazy(() => import('./asking.tsx').then(({ Asking: part }) => ({ default: part })))

export function TryIt({ market, url }: { readonly market: ShownModel; readonly url: string }) {
  // The policy of this page lets it call its own address alone.
  const isHere = url === location.origin && market.endpoints.includes('chat')
  return (
    <Card title="Call it" about="The answer says what it cost">
      <div className="form">
        {isHere ? (
          <Suspense fallback={<Skeleton height="8.5rem" />}>
            <Asking model={market.id} />
          </Suspense>
        ) : null}
        <Code label="A call to paste" text={callOf(market, url)} />
      </div>
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
