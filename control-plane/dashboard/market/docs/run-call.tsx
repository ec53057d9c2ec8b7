import { useState } from 'react'
import { apiUrlHere } from '#control-plane/dashboard/data/api-url.ts'
import { Button } from '#control-plane/dashboard/ui/button.tsx'
import { Input, TextArea } from '#control-plane/dashboard/ui/fields.tsx'

/** The facts of a call, as the build writes them into the page of its operation. */
type Facts = {
  /** The address that calls go to. */
  readonly api: string
  readonly method: string
  readonly target: string
  readonly caller?: string
  readonly needsIdempotencyKey: boolean
  readonly body?: string
}

const KEYS: Readonly<Record<string, string>> = {
  buyerKey: 'inf_…',
  messagesKey: 'inf_…',
  sellerKey: 'mkt_seller_…',
  managementKey: 'mkt_mgmt_…',
}
const PATIENCE_MS = 60_000
const MAX_SHOWN = 100_000

/**
 * A console for one call, where its calls go to the origin of this page. The key lives in its field only, goes to this
 * origin only, and no cookie goes with it.
 */
export function RunCall({ facts }: { readonly facts: string }) {
  const call: Facts = JSON.parse(facts)
  const [path, setPath] = useState(call.target)
  const [key, setKey] = useState('')
  const [body, setBody] = useState(call.body ?? '')
  const [answer, setAnswer] = useState<string | undefined>()
  const [isBusy, setBusy] = useState(false)
  if (new URL(apiUrlHere(call.api)).origin !== location.origin) return null
  const send = async () => {
    setBusy(true)
    setAnswer(await ask(call, { path, key: key.trim(), body }).catch((error: unknown) => String(error)))
    setBusy(false)
  }
  return (
    <details className="run">
      <summary>Run this call</summary>
      <div className="form">
        <Input
          label="Path"
          value={path}
          isWide
          spellCheck={false}
          onChange={(event) => setPath(event.currentTarget.value)}
        />
        {call.caller === undefined ? null : (
          <Input
            label="API key"
            isWide
            type="password"
            autoComplete="off"
            placeholder={KEYS[call.caller]}
            hint="Sent with this call only. Not stored."
            value={key}
            onChange={(event) => setKey(event.currentTarget.value)}
          />
        )}
        {call.body === undefined ? null : (
          <TextArea
            label="Body"
            isWide
            rows={Math.min(16, body.split('\n').length + 1)}
            spellCheck={false}
            value={body}
            onChange={(event) => setBody(event.currentTarget.value)}
          />
        )}
        <div>
          <Button kind="primary" disabled={isBusy} onClick={() => void send()}>
            Send {call.method}
          </Button>
        </div>
      </div>
      <div aria-live="polite">
        {answer === undefined ? null : (
          // biome-ignore lint/a11y/noNoninteractiveTabindex: What scrolls can be scrolled by keyboard.
          <pre tabIndex={0}>{answer}</pre>
        )}
      </div>
    </details>
  )
}

type Typed = { readonly path: string; readonly key: string; readonly body: string }

async function ask({ method, caller, needsIdempotencyKey, body: example }: Facts, { path, key, body }: Typed) {
  const address = new URL(path, location.origin)
  if (address.origin !== location.origin) return 'Only calls to this market can be made here.'
  const headers = new Headers()
  if (key !== '' && caller === 'messagesKey') headers.set('x-api-key', key)
  else if (key !== '') headers.set('authorization', `Bearer ${key}`)
  if (needsIdempotencyKey) headers.set('idempotency-key', crypto.randomUUID())
  if (example !== undefined) headers.set('content-type', 'application/json')
  const answer = await fetch(address, {
    method,
    headers,
    credentials: 'omit',
    signal: AbortSignal.timeout(PATIENCE_MS),
    ...(example === undefined ? {} : { body }),
  })
  const id = answer.headers.get('x-request-id')
  const head = `${answer.status} ${answer.statusText}${id === null ? '' : `\nx-request-id: ${id}`}`
  return `${head}\n\n${indented(await answer.text()).slice(0, MAX_SHOWN)}`
}

function indented(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2)
  } catch {
    return text
  }
}
