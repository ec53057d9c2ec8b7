import { useState } from 'react'
import { Button } from '#control-plane/dashboard/ui/button.tsx'
import { DocAnchor } from './doc-link.tsx'
import type { DocGroup, DocMenu } from './doc-page.ts'

const REFERENCE = '/docs/reference'

/** The menu of the documentation. On a phone it is behind a button. */
export function DocsMenu({ menu, path }: { readonly menu: DocMenu; readonly path: string }) {
  const [openedAt, setOpenedAt] = useState<string | undefined>()
  const isOpen = openedAt === path
  return (
    <nav className="docs-menu" aria-label="Documentation" data-open={isOpen}>
      <Button aria-expanded={isOpen} onClick={() => setOpenedAt(isOpen ? undefined : path)}>
        {isOpen ? 'Close the list' : 'All pages'}
      </Button>
      <div>
        {menu.texts.map((group) => (
          <section key={group.title}>
            <h2>{group.title}</h2>
            <Links group={group} path={path} />
          </section>
        ))}
        {path.startsWith(REFERENCE) ? <Operations menu={menu} path={path} /> : null}
      </div>
    </nav>
  )
}

/** Groups of operations: the one of this page is open. */
function Operations({ menu, path }: { readonly menu: DocMenu; readonly path: string }) {
  return (
    <section>
      <h2>Operations</h2>
      {menu.operations.map((group) => (
        <details key={group.title} open={group.links.some(({ to }) => to === path)}>
          <summary>{group.title}</summary>
          <Links group={group} path={path} />
        </details>
      ))}
    </section>
  )
}

function Links({ group, path }: { readonly group: DocGroup; readonly path: string }) {
  return (
    <ul>
      {group.links.map(({ to, label, method }) => (
        <li key={to}>
          <DocAnchor to={to} isHere={to === path}>
            {label}
            {method === undefined ? null : <span className="verb">{method}</span>}
          </DocAnchor>
        </li>
      ))}
    </ul>
  )
}
