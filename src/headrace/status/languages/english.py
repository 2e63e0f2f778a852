"""Patterns for status phrases in English."""

from __future__ import annotations

import re

from headrace.status.languages.language import Language, announcements

# Verbs that may follow a sequence word without a subject: "Now compute the sum."
_VERBS = "|".join(
    """
    add adjust analy[sz]e answer apply assess break build calculate call check clarify collect
    combine compare compile compute confirm consider construct convert count craft debug decide
    decompose define derive describe design determine divide double-check draft draw enumerate
    estimate evaluate examine expand explain explore extract factor figure find focus formulate
    gather generate identify implement inspect integrate investigate isolate list load locate look
    map measure merge multiply open organize outline parse pick plan plot prepare present prove
    provide query re-check re-read read recall recheck recompute reconsider reduce refine rephrase
    replace reread resolve respond review revisit rewrite run scan search select simplify sketch
    solve sort split structure study subtract sum summari[sz]e tackle test trace translate try
    understand update use validate verify weigh work write
    """.split()
)
# After "I'm" any verb in -ing announces something, except those of a state, a feeling or a doubt.
_GERUNDS = (
    r"focused|thinking (?:about|through)"
    r"|(?!(?:asking|assuming|being|believing|doing|feeling|getting to|going|guessing|having|hoping"
    r"|knowing|leaning|living|meaning|missing|saying|seeing|sitting|something|standing|supposing"
    r"|talking|telling|thinking|waiting|wanting|wondering)\b)[a-z-]{2,}ing"
)
# A sentence may start with the gerund of these verbs. With other verbs the gerund is mostly the
# subject of a statement: "Running water reached the village".
_PLAIN_GERUNDS = (
    r"analy[sz]ing|examining|considering|thinking about|looking (?:at|for|into)|reviewing|checking"
    r"|exploring|evaluating|comparing|calculating|computing|searching|investigating|verifying"
    r"|counting|breaking (?:it|this|that|them|the \w+) down|listing|identifying|confirming"
    r"|determining|estimating|summari[sz]ing|(?:double-|re-?)checking|converting|outlining|assessing"
    r"|focusing on|gathering|tracing|parsing"
)
# The clause after these words has a verb of its own: "Checking whether the index is used".
_CLAUSE = r"(?:whether|if|how|what|which|why|where|when|who|that)\b"
# These words after a gerund make it a subject: "Checking the logs is pointless".
_FINITE = (
    r"(?<!\bthe )(?<!\ba )(?<!\bof )(?<!\band )(?<!\bor )(?<!\bits )(?<!\btheir )\b(?:is|are|was"
    r"|were|would|will|can|could|may|might|must|takes?|took|requires?|seems?|makes?|made|gives?|gave"
    r"|means?|meant|doesn't|isn't|won't|shows?|helps?|costs?|yields?|has|have|had|hurts?|keeps?|kept|pays?|paid|never|did|does|got|led|leads?|went|came"
    r"|\w{3,}ed)"
)
_SOON = (
    r"(?:let me|let's|lets|let us|time to|need to|must|gotta|i'd like to"
    rf"|should(?= (?:{_VERBS}|mention|keep|avoid)\b)"
    r"|(?:i|we)(?:'ll| will| shall| need to| have to| should| must| want to)"
    r"|(?:i'm|i am|we're|we are) going to)"
)
_HOW = (
    r"(?:(?:now|first|next|then|also|just|quickly|carefully|briefly|probably|still|actually|again"
    r"|simply|really|try to|need to|have to|start by|begin by|politely|methodically) +){0,3}"
)
_AT_IT = (
    r"(?:i'm|i am|we're|we are) +(?:(?:now|currently|also|still|just|carefully|meticulously"
    r"|methodically|actively|really|starting to|beginning to) +){0,2}"
)
_SEQUENCE = (
    r"(?:first|firstly|(?:second|third)(?=[,:])|secondly|thirdly|next|then|now|finally|lastly)"
)
_KEY = (
    r"(?:(?:the|an?|one|another) +)?(?:key|main|important|critical|crucial|core|central|real) +"
    r"(?:point|thing|aspect"
    r"|issue|question|challenge|insight|idea|problem|difficulty|observation|constraint|step|trick"
    r"|fact|rule) +(?:(?:here +)?(?:is|lies in)|here)"
)
_ANNOUNCEMENTS = announcements(
    lead=(
        r"(?:(?:okay|ok|so|now|well|hmm+|wait|alright|right|but|and|however|first|firstly|second"
        r"|secondly|third|thirdly|next|then|finally|lastly|also|actually|again|instead|therefore"
        r"|thus|hence|alternatively|oh|yes|no wait|let's see|to start|to begin(?: with)?|for now"
        r"|here|in this case|after (?:that|this)|step \d+)\b[,.:…!]*+(?: -)?+\s*+){0,4}"
    ),
    families=(
        rf"{_SOON} +{_HOW}([a-z][\w'-]*\b.*)",
        rf"{_AT_IT}((?:{_GERUNDS})\b +.*)",
        rf"(?=\w+ing )((?:{_PLAIN_GERUNDS})\b +"
        rf"(?:(?={_CLAUSE})|(?!(?:\S+ +){{0,7}}?(?:{_FINITE})\b)).*)",
        rf"(?<![-*+•] ){_SEQUENCE}\b\s*[,:]?\s+"
        rf"((?:{_VERBS})\b +(?!(?:is|was|are|were|time|times|case|cases|it was)\b).*)",
        rf"({_KEY} +.*)",
    ),
)

ENGLISH = Language(
    name="en",
    script=re.compile(r"[A-Za-z]{2}"),
    opening=re.compile(r"\W*+" + _ANNOUNCEMENTS),
    # The pattern begins with a small character class, which makes the search fast.
    inner=re.compile(r"[,;—–…]\s++" + _ANNOUNCEMENTS),
    conjunctions=(" so ", " and ", " but ", " - "),
    joined=re.compile(r"\s(?:so|and|but|-) ++" + _ANNOUNCEMENTS),
    refused=re.compile(
        r"(?:not|never|be|been|have|had|need|know|end up|get to|say|proceed|do (?:that|this|it)"
        r"|keep it|go with (?:that|this|it)|think (?:again|harder|carefully|step by step"
        r"|it through)|think (?:about|through) (?:it|this|that)|admit|live|see(?= *(?:[,:;.]|$))"
        r"|see (?:a|you|how it goes"
        r"|what happens)|consider it|remind myself|let's|let me)\b"
        r"|(?:going|getting|trying|looking|setting|using) (?:well|good|better|sense|forward)\b"
        r"|\w+ing (?:everything|all (?:this|that|things))\b"
    ),
    supposes=re.compile(r"\W*(?:if|unless|suppose|imagine)\b"),
    asks=("?",),
    # This one too begins with a character class.
    stop=re.compile(
        r"[,;()\[\]{}<>|\"“”=$\\→—…:–!?.-]"
        r"(?:(?<![:–!?.-])|(?<=:)(?!//)|(?<=\s[–-])[–-]*+\s|(?<=[!?])(?=\s|$)|(?<=\.)(?=\.|\s*$))"
    ),
    dangling=re.compile(
        r"(?:[\s,;:'’-]|\b(?:the|a|an|of|to|and|or|in|on|at|for|with|that|is|are|if|by|from|as|into"
        r"|its|their|his|her|my|our|your|this|these|those|whether|which|when|where|how|what|why"
        r"|then|but|so|than|any|some|each|every|be|not))+$",
        re.IGNORECASE,
    ),
    min_chars=16,
    max_chars=60,
)  # fmt: skip
