import harness.Checksum;
import harness.Figures;
import harness.Rng;
import java.io.StringReader;
import java.io.StringWriter;
import java.util.ArrayList;
import java.util.List;
import javax.xml.transform.Source;
import javax.xml.transform.Templates;
import javax.xml.transform.Transformer;
import javax.xml.transform.TransformerFactory;
import javax.xml.transform.dom.DOMResult;
import javax.xml.transform.stream.StreamResult;
import javax.xml.transform.stream.StreamSource;
import org.w3c.dom.Document;

/**
 * Transforms generated documents by a stylesheet with Xalan: by its interpreter, and by its compiler, which makes
 * classes of the stylesheet; several threads share the compiled one.
 *
 * <p>Arguments: documents of each thread, items in each, threads.
 */
public class Transform {
    private static final String INTERPRETER = "org.apache.xalan.processor.TransformerFactoryImpl";
    private static final String COMPILER = "org.apache.xalan.xsltc.trax.TransformerFactoryImpl";

    private static final String STYLE = String.join("\n",
        "<xsl:stylesheet version='1.0' xmlns:xsl='http://www.w3.org/1999/XSL/Transform'>",
        "<xsl:output method='xml' indent='no' encoding='UTF-8'/>",
        "<xsl:key name='by-kind' match='item' use='@kind'/>",
        "<xsl:variable name='limit' select='50'/>",
        "<xsl:param name='title' select=\"'none'\"/>",
        "<xsl:template match='/catalog'>",
        " <report title='{$title}' items='{count(item)}'>",
        "  <xsl:for-each select=\"item[generate-id() = generate-id(key('by-kind', @kind)[1])]\">",
        "   <xsl:sort select='@kind'/>",
        "   <kind name='{@kind}' count=\"{count(key('by-kind', @kind))}\">",
        "    <xsl:value-of select=\"format-number(sum(key('by-kind', @kind)/price), '#,##0.00')\"/></kind>",
        "  </xsl:for-each>",
        "  <xsl:apply-templates select='item[price &gt; $limit]'>",
        "   <xsl:sort select='price' data-type='number' order='descending'/><xsl:sort select='@id'/>",
        "  </xsl:apply-templates>",
        " </report>",
        "</xsl:template>",
        "<xsl:template match='item'>",
        " <xsl:variable name='words' select='string-length(translate(normalize-space(text), ",
        "  \"abcdefghijklmnopqrstuvwxyz\", \"\")) + 1'/>",
        " <row pos='{position()}' id='{@id}'><xsl:choose>",
        "  <xsl:when test='$words &gt; 8'><xsl:value-of select='substring(text, 1, 20)'/>...</xsl:when>",
        "  <xsl:otherwise><xsl:copy-of select='text/node()'/></xsl:otherwise></xsl:choose>",
        "  <xsl:call-template name='stars'><xsl:with-param name='n' select='round(price div 20)'/></xsl:call-template>",
        "  <xsl:if test='preceding-sibling::item[1]/@kind = @kind'><again/></xsl:if>",
        " </row>",
        "</xsl:template>",
        "<xsl:template name='stars'><xsl:param name='n'/>",
        " <xsl:if test='$n &gt; 0'>*<xsl:call-template name='stars'><xsl:with-param name='n' select='$n - 1'/>",
        " </xsl:call-template></xsl:if></xsl:template>",
        "</xsl:stylesheet>");

    public static void main(String[] args) throws Exception {
        int documents = args.length > 0 ? Integer.parseInt(args[0]) : 20;
        int items = args.length > 1 ? Integer.parseInt(args[1]) : 100;
        int threads = args.length > 2 ? Integer.parseInt(args[2]) : 2;
        for (int kind = 0; kind < 2; kind++) {
            String name = kind == 0 ? "interpreted" : "compiled";
            long start = System.nanoTime();
            TransformerFactory factory =
                TransformerFactory.newInstance(kind == 0 ? INTERPRETER : COMPILER, Transform.class.getClassLoader());
            Templates templates = factory.newTemplates(new StreamSource(new StringReader(STYLE)));
            List<Worker> workers = new ArrayList<>();
            for (int i = 0; i < threads; i++) {
                Worker worker = new Worker(templates, i, documents, items);
                workers.add(worker);
                worker.start();
            }
            Checksum checksum = new Checksum();
            for (Worker worker : workers) {
                worker.join();
                if (worker.failure != null) {
                    throw worker.failure;
                }
                checksum.add(worker.checksum.toString()).add(worker.characters);
            }
            Figures.result(name, checksum);
            Figures.metric(name + "_s", Figures.seconds(start));
        }
    }

    private static String document(Rng rng, int items) {
        StringBuilder text = new StringBuilder("<?xml version='1.0'?>\n<catalog>\n");
        for (int i = 0; i < items; i++) {
            text.append("<item id='i").append(i).append("' kind='k").append(rng.skewed(12)).append("'><price>");
            text.append(rng.between(1, 99)).append('.').append(rng.between(10, 99)).append("</price><text>");
            int words = rng.between(2, 14);
            for (int w = 0; w < words; w++) {
                text.append(w == 0 ? "" : " ").append(rng.letters(rng.between(2, 7)));
            }
            text.append(i % 9 == 0 ? " &amp; <b>bold &#228;</b><!-- note -->" : "").append("</text></item>\n");
        }
        return text.append("</catalog>\n").toString();
    }

    /** A thread that transforms documents of its own. */
    private static final class Worker extends Thread {
        final Checksum checksum = new Checksum();
        long characters;
        Exception failure;
        private final Templates templates;
        private final int number;
        private final int documents;
        private final int items;

        Worker(Templates templates, int number, int documents, int items) {
            this.templates = templates;
            this.number = number;
            this.documents = documents;
            this.items = items;
        }

        @Override
        public void run() {
            try {
                Rng rng = new Rng(50 + number);
                for (int i = 0; i < documents; i++) {
                    Transformer transformer = templates.newTransformer();
                    transformer.setParameter("title", "document " + i);
                    Source source = new StreamSource(new StringReader(document(rng, items)));
                    if (i % 4 == 3) {
                        DOMResult result = new DOMResult();
                        transformer.transform(source, result);
                        Document tree = (Document) result.getNode();
                        checksum.add(tree.getDocumentElement().getTextContent());
                        characters += tree.getElementsByTagName("row").getLength();
                    } else {
                        StringWriter out = new StringWriter();
                        transformer.transform(source, new StreamResult(out));
                        checksum.add(out.getBuffer());
                        characters += out.getBuffer().length();
                    }
                }
            } catch (Exception exception) {
                failure = exception;
            }
        }
    }
}
