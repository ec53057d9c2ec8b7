import { Link, useLocation } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { useEffect, useState } from 'react'
import { isPassing } from '#control-plane/dashboard/data/client.ts'
import type { PageSide } from '#control-plane/dashboard/data/session.tsx'
import { isOfSide, useViewer } from '#control-plane/dashboard/data/session.tsx'
import { BookPicture } from './book-picture.tsx'
import { Page } from './page.tsx'
import type { SIDE_USES } from './side-uses.ts'
import { ErrorNotice, Notice, SignInBeside, SkeletonScreen } from './states.tsx'

/** True after a session ended by itself on this screen. A sign-out resets it. */
function useWasIn(side: PageSide): boolean {
  const viewer = useViewer()
  const [isShown, setShown] = useState(false)
  const isIn = isOfSide(viewer, side)
  const isOther = viewer.kind !== 'nobody' && !isIn
  useEffect(() => {
    if (isIn) setShown(true)
    else if (!viewer.isKnown || isOther) setShown(false)
  }, [isIn, isOther, viewer.isKnown])
  return isShown && viewer.isKnown && viewer.kind === 'nobody'
}

function Ended() {
  return (
    <div className="before-page">
      <Notice tone="bad">
        <span>This session has ended, or its key was revoked. What you typed is still here.</span>
        <SignInBeside />
      </Notice>
    </div>
  )
}

/**
 * Shows a screen to readers with access to it, and the sign-in to everybody else. Typed text stays when a session ends.
 */
export function Gate({
  side,
  title,
  children,
}: {
  readonly side: PageSide
  readonly title: string
  readonly children: ReactNode
}) {
  const viewer = useViewer()
  const wasIn = useWasIn(side)
  if (isOfSide(viewer, side) || wasIn) {
    return (
      <>
        {wasIn ? <Ended /> : null}
        {children}
      </>
    )
  }
  if (!viewer.isKnown) {
    return (
      <Page title={title}>
        {viewer.failure === null ? null : <ErrorNotice error={viewer.failure} onRetry={viewer.again} />}
        {viewer.failure === null || isPassing(viewer.failure) ? <SkeletonScreen /> : null}
      </Page>
    )
  }
  return <Stranger side={side} title={title} />
}

/** The screen of a side for a reader without access: the use of the side, and the way in. */
function Stranger({ side, title }: { readonly side: PageSide; readonly title: string }) {
  const { kind } = useViewer()
  const { href } = useLocation()
  const [uses, setUses] = useState<typeof SIDE_USES>()
  // Few readers need these texts, so they are a script of their own.
  useEffect(() => void import('./side-uses.ts').then((texts) => setUses(texts.SIDE_USES)), [])
  const who = `${side === 'operator' ? 'an' : 'a'} ${side}`
  return (
    <Page
      title={title}
      about={`Sign in as ${who} to see this page.${kind === 'nobody' ? '' : ` You are signed in as ${kind}.`}`}
    >
      <section className="card intro gate" aria-label="Sign in">
        <div>
          <p>{uses?.[side]}</p>
          <div className="actions">
            <Link to="/sign-in" search={{ to: href }} className="button" data-kind="primary">
              {`Sign in as ${who}`}
            </Link>
          </div>
        </div>
        <BookPicture />
      </section>
    </Page>
  )
}
