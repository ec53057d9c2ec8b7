import { Link, useLocation } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import type { Side } from '#control-plane/dashboard/data/session.tsx'
import { isOfSide, useViewer } from '#control-plane/dashboard/data/session.tsx'
import { Page } from './page.tsx'
import { Skeleton } from './states.tsx'

const NAMES = { buyer: 'a buyer', seller: 'a seller', operator: 'an operator' } as const

/** Shows a screen to those whose it is, and the way in to everybody else. */
export function Gate({
  side,
  title,
  children,
}: {
  readonly side: Side
  readonly title: string
  readonly children: ReactNode
}) {
  const viewer = useViewer()
  const { href } = useLocation()
  if (isOfSide(viewer, side)) return children
  if (!viewer.isKnown) {
    return (
      <Page title={title}>
        <Skeleton height="20rem" />
      </Page>
    )
  }
  return (
    <Page
      title={title}
      about={
        viewer.kind === 'nobody'
          ? `This screen belongs to ${NAMES[side]}. Nobody is signed in with this browser.`
          : `This screen belongs to ${NAMES[side]}, and this browser is signed in as ${viewer.kind}.`
      }
    >
      <p>
        <Link to="/sign-in" search={{ to: href }} className="button" data-kind="primary">
          {`Sign in as ${NAMES[side]}`}
        </Link>
      </p>
    </Page>
  )
}
