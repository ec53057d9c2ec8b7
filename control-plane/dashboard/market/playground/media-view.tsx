import { useEffect, useState } from 'react'
import { isPassing } from '#control-plane/dashboard/data/client.ts'
import type { PayingCall } from '#control-plane/dashboard/data/paid-call.ts'
import { Button } from '#control-plane/dashboard/ui/button.tsx'
import { ErrorNotice, Notice } from '#control-plane/dashboard/ui/states.tsx'
import type { Media } from './reply.ts'

type Props = { readonly media: Media; readonly label: string; readonly paid: PayingCall }

/** A picture, a sound or a film of an answer, with a way to keep it. */
export function MediaView({ media, label, paid }: Props) {
  const { kind, url, name } = media
  if (kind === 'file') return <ProviderFile media={media} label={label} paid={paid} />
  return (
    <figure className="play-media">
      <Shown kind={kind} url={url} label={label} />
      <figcaption>
        <a className="button" href={url} download={name}>
          Download
        </a>
      </figcaption>
    </figure>
  )
}

type ShownProps = { readonly kind: Media['kind']; readonly url: string; readonly label: string }

function Shown({ kind, url, label }: ShownProps) {
  return (
    <>
      {kind === 'picture' ? <img src={url} alt={label} /> : null}
      {/* biome-ignore lint/a11y/useMediaCaption: An answer comes without captions. */}
      {kind === 'sound' ? <audio controls src={url} aria-label={label} /> : null}
      {/* biome-ignore lint/a11y/useMediaCaption: An answer comes without captions. */}
      {kind === 'film' ? <video controls preload="metadata" src={url} aria-label={label} /> : null}
    </>
  )
}

/** A loaded file in the memory of the page. */
type Loaded = { readonly url: string; readonly kind: 'film' | 'sound' }

/**
 * A file at its provider's address. The page shows nothing of other origins, so that a preview comes through the
 * market's own door for files, which loads from the hosts of known providers.
 */
function ProviderFile({ media, label, paid }: Props) {
  const { url, path } = media
  const [preview, setPreview] = useState<Loaded | Error | 'loading'>()
  const loaded = typeof preview === 'object' && 'url' in preview ? preview : undefined
  useEffect(() => {
    if (loaded === undefined) return undefined
    return () => URL.revokeObjectURL(loaded.url)
  }, [loaded])
  const load = async (from: string) => {
    setPreview('loading')
    try {
      const file = await (await paid(from, { method: 'GET' })).blob()
      setPreview({ url: URL.createObjectURL(file), kind: file.type.startsWith('audio/') ? 'sound' : 'film' })
    } catch (error) {
      setPreview(error instanceof Error ? error : new Error(String(error)))
    }
  }
  return (
    <figure className="play-media">
      {loaded === undefined ? null : <Shown kind={loaded.kind} url={loaded.url} label={label} />}
      {preview instanceof Error && isPassing(preview) && path !== undefined ? (
        <ErrorNotice error={preview} onRetry={() => void load(path)} />
      ) : preview instanceof Error ? (
        <Notice tone="warn">No preview: the market can't load this file. Open the file at its provider.</Notice>
      ) : null}
      <figcaption className="actions">
        {path === undefined || loaded !== undefined ? null : (
          <Button disabled={preview === 'loading'} onClick={() => void load(path)}>
            {preview === 'loading' ? 'Loading…' : 'Load preview'}
          </Button>
        )}
        <a className="button" href={url} target="_blank" rel="noreferrer noopener">
          Open the file at its provider
        </a>
      </figcaption>
    </figure>
  )
}
