import { useMutation } from '@tanstack/react-query'
import type { FormEvent } from 'react'
import { useState } from 'react'
import { answerOf, at } from '#control-plane/dashboard/data/answer-of.ts'
import { apiUrlHere } from '#control-plane/dashboard/data/api-url.ts'
import type { JobFragment } from '#control-plane/dashboard/data/documents/buyer-jobs.ts'
import { count } from '#control-plane/dashboard/data/format.ts'
import { Button } from '#control-plane/dashboard/ui/button.tsx'
import { Code } from '#control-plane/dashboard/ui/copy.tsx'
import { Dialog } from '#control-plane/dashboard/ui/dialog.tsx'
import { Input } from '#control-plane/dashboard/ui/fields.tsx'
import { Notice } from '#control-plane/dashboard/ui/states.tsx'

const ANSWER_MS = 60_000

type FilesProps = { readonly job: JobFragment; readonly url: string; readonly onClose: () => void }

/** The files of a job are opened by a key, which a browser's session does not stand for on inference. */
export function Files({ job, url, onClose }: FilesProps) {
  const name = `job_${job.id}`
  const path = `/v1/${job.kind}/generations/${name}`
  const key = '-H "Authorization: Bearer $MARKET_KEY"'
  const text =
    job.kind === 'video'
      ? `curl -L ${url}/v1/videos/${name}/content \\\n  ${key} -o ${name}.mp4`
      : `curl ${url}${path} \\\n  ${key}`
  return (
    <Dialog dialog={{ isOpen: true, close: onClose }} title="Download">
      <p>
        {job.artifacts === null ? 'The files' : job.artifacts === 1 ? 'The file' : `The ${count(job.artifacts)} files`}{' '}
        of this job {job.artifacts === 1 ? 'is' : 'are'} opened by a key of your account.
      </p>
      {/* The policy of this page lets it call its own address alone. */}
      {url === location.origin ? <Links path={path} name={name} /> : null}
      <Code label="Download" text={text} />
      <p className="muted">A link lives for an hour, a file for a day. A new answer has a fresh link.</p>
    </Dialog>
  )
}

/** Asks for fresh links with the reader's own key, which stays in its field. */
function Links({ path, name }: { readonly path: string; readonly name: string }) {
  const [key, setKey] = useState('')
  const ask = useMutation({ mutationFn: () => linksOf(path, key.trim()) })
  const submit = (event: FormEvent) => {
    event.preventDefault()
    ask.mutate()
  }
  return (
    <form className="form" onSubmit={submit}>
      <Input
        label="Your key"
        hint="A buyer key. It is sent with the question for the links, and kept nowhere"
        type="password"
        autoComplete="off"
        required
        value={key}
        onChange={({ currentTarget: { value } }) => setKey(value)}
      />
      <div className="actions">
        <Button type="submit" kind="primary" disabled={ask.isPending}>
          Get the links
        </Button>
      </div>
      {ask.error === null ? null : <Notice tone="bad">{ask.error.message}</Notice>}
      {ask.data === undefined ? null : ask.data.length === 0 ? (
        <Notice tone="warn">The files are gone: they are kept for a day after the job has ended.</Notice>
      ) : (
        <ul className="actions" aria-label="Files">
          {ask.data.map(({ href, type }, place) => (
            <li key={href}>
              <a className="button" href={href} {...openingOf(href, `${name}-${place}`)} rel="noreferrer">
                File {place + 1} <span className="muted">{type}</span>
              </a>
            </li>
          ))}
        </ul>
      )}
    </form>
  )
}

type FileLink = { readonly href: string; readonly type: string }

/**
 * A browser saves a file of our own address under the name. Until we have a copy the link is the provider's, which a browser
 * shows instead: that goes into a tab of its own, and this page stays.
 */
function openingOf(href: string, name: string) {
  const isOurs = new URL(href, location.origin).origin === location.origin
  return isOurs ? { download: name } : { target: '_blank' }
}

async function linksOf(path: string, key: string): Promise<readonly FileLink[]> {
  const { body } = await answerOf(path, { key, withinMs: ANSWER_MS })
  const files = at(body, 'artifacts')
  if (!Array.isArray(files)) return []
  return files.flatMap((file: unknown) => {
    const [href, type] = [at(file, 'url'), at(file, 'content_type')]
    // A provider may send any text as an address. Only an http or https address becomes a link.
    if (typeof href !== 'string' || !/^https?:\/\//.test(href)) return []
    return [{ href: apiUrlHere(href), type: typeof type === 'string' ? type : '' }]
  })
}
