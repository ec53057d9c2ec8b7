import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'

/** Leads to the page of a model. It shows the id unless it has children. */
export function ModelLink({ model, children = model }: { readonly model: string; readonly children?: ReactNode }) {
  return (
    <Link to="/model/$" params={{ _splat: model }}>
      {children}
    </Link>
  )
}
